// A formula wider than the page scrolls by itself; this makes such formulas reachable by keyboard.
(function () {
  "use strict";

  function mark() {
    document.querySelectorAll('mjx-container[display="true"]').forEach(function (formula) {
      if (formula.scrollWidth > formula.clientWidth) {
        formula.setAttribute("tabindex", "0");
      } else {
        formula.removeAttribute("tabindex");
      }
    });
  }

  window.addEventListener("load", function () {
    if (!window.MathJax || !window.MathJax.startup) { return; }
    window.MathJax.startup.promise.then(function () {
      mark();
      window.addEventListener("resize", mark);
    });
  });
})();
