// Tables of the reference: a search field that filters the rows, and a button that saves the visible rows as CSV.
(function () {
  "use strict";

  const { element } = window.ettrState;
  const LEAST_ROWS = 8; // a shorter table is read at a glance

  function csv(rows) {
    return ettrCsv(rows.map(function (row) {
      return Array.from(row.cells).map(function (cell) { return cell.textContent.trim(); });
    }));
  }

  function addTools(box) {
    const rows = Array.from(box.querySelectorAll("tbody tr"));
    if (rows.length < LEAST_ROWS) { return; }
    const caption = box.getAttribute("aria-label");
    const counter = element("span", { role: "status" });

    function filter(event) {
      const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
      rows.forEach(function (row) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every(function (word) { return text.includes(word); });
      });
      counter.textContent = words.length ? rows.filter(function (row) { return !row.hidden; }).length + " of " + rows.length : "";
    }
    function save() {
      const visible = Array.from(box.querySelectorAll("thead tr")).concat(rows.filter(function (row) { return !row.hidden; }));
      const name = caption.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60) || "table";
      ettrOffer(URL.createObjectURL(new Blob([csv(visible)], { type: "text/csv" })), name + ".csv");
    }
    const search = { type: "search", placeholder: "Search this table", "aria-label": "Search: " + caption },
      button = { type: "button", "aria-label": "Save as CSV: " + caption, on: { click: save } };
    box.before(
      element(
        "div",
        { class: "book-table-tools" },
        element("input", { ...search, on: { input: filter } }),
        counter,
        element("button", button, "Save as CSV")
      )
    );
  }

  document.querySelectorAll(".book-table").forEach(addTools);
})();
