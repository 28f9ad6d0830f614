// Rows as CSV that is safe to open in a spreadsheet: what ettr/files/spreadsheet.py does for files of the package.
window.ettrCsv = (function () {
  "use strict";

  const FORMULA = /^[=+\-@\t\r\n]/;
  const NUMBER = /^[+-]?(\d[\d,]*(\.\d+)?|\.\d+)([eE][+-]?\d+)?\s?%?$/;

  function cell(value) {
    let text = value === null || value === undefined ? "" : String(value);
    if (typeof value === "string" && FORMULA.test(text) && !NUMBER.test(text)) { text = "'" + text; }
    return /[",\n\r]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
  }

  return function (rows) {
    return rows.map(function (row) { return row.map(cell).join(","); }).join("\n") + "\n";
  };
})();
