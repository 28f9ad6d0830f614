// How results of the search are ordered: chapters first, the pages on the package last.
var Scorer = { // eslint-disable-line no-var, no-unused-vars -- Sphinx looks for this name
  score: function (result) {
    const page = result[0], score = result[4];
    return page.startsWith("book/reference/api") ? score - 100 : page.startsWith("book/reference") ? score - 20 : score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
