// Tables of the reference: a search field that filters the rows, and a button that saves the visible rows as CSV.
(function () {
  "use strict";

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
    const tools = document.createElement("div");
    tools.className = "book-table-tools";

    const field = document.createElement("input");
    field.type = "search";
    field.placeholder = "Search this table";
    field.setAttribute("aria-label", "Search: " + caption);
    const counter = document.createElement("span");
    counter.setAttribute("role", "status");
    field.addEventListener("input", function () {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      rows.forEach(function (row) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every(function (word) { return text.includes(word); });
      });
      counter.textContent = words.length ? rows.filter(function (row) { return !row.hidden; }).length + " of " + rows.length : "";
    });

    const save = document.createElement("button");
    save.type = "button";
    save.textContent = "Save as CSV";
    save.setAttribute("aria-label", "Save as CSV: " + caption);
    save.addEventListener("click", function () {
      const visible = Array.from(box.querySelectorAll("thead tr")).concat(rows.filter(function (row) { return !row.hidden; }));
      const name = caption.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60) || "table";
      ettrOffer(URL.createObjectURL(new Blob([csv(visible)], { type: "text/csv" })), name + ".csv");
    });
    tools.append(field, counter, save);
    box.before(tools);
  }

  document.querySelectorAll(".book-table").forEach(addTools);
})();
