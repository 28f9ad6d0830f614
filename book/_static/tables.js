// Tables of the reference: a field that leaves the rows with a text, and a button that saves those as CSV.
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
    const found = document.createElement("span");
    found.setAttribute("role", "status");
    field.addEventListener("input", function () {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      rows.forEach(function (row) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every(function (word) { return text.includes(word); });
      });
      found.textContent = words.length ? rows.filter(function (row) { return !row.hidden; }).length + " of " + rows.length : "";
    });

    const save = document.createElement("button");
    save.type = "button";
    save.textContent = "Save as CSV";
    save.setAttribute("aria-label", "Save as CSV: " + caption);
    save.addEventListener("click", function () {
      const shown = Array.from(box.querySelectorAll("thead tr")).concat(rows.filter(function (row) { return !row.hidden; }));
      const name = caption.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60) || "table";
      ettrOffer(URL.createObjectURL(new Blob([csv(shown)], { type: "text/csv" })), name + ".csv");
    });
    tools.append(field, found, save);
    box.before(tools);
  }

  document.querySelectorAll(".book-table").forEach(addTools);
})();
