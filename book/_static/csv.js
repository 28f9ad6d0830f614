// Rows as CSV that is safe to open in a spreadsheet, as in ettr/files/spreadsheet.py.
window.ettrCsv = (function () {
  "use strict";

  const FORMULA = /^[=+\-@\t\n]/;
  const NUMBER = /^[+-]?(\d[\d,]*(\.\d+)?|\.\d+)([eE][+-]?\d+)?\s?%?$/;

  function cell(value) {
    let text = value === null || value === undefined ? "" : String(value);
    text = text.replace(/\r\n?/g, "\n");
    if (typeof value === "string" && FORMULA.test(text) && !NUMBER.test(text)) { text = "'" + text; }
    return /[",\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
  }

  return function (rows) {
    return rows.map(function (row) { return row.map(cell).join(","); }).join("\n") + "\n";
  };
})();

// Offer the content of an address as a download.
window.ettrOffer = function (address, name) {
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  document.body.appendChild(link);
  link.click();
  link.remove();
};
