// Sorts a table by the clicked column. Everything else works without scripts.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = table.querySelectorAll("th");
  heads.forEach((head, index) => {
    head.tabIndex = 0;
    const sort = () => {
      const up = head.getAttribute("aria-sort") === "descending" ||
        (head.getAttribute("aria-sort") !== "ascending" && !head.classList.contains("n"));
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const body = table.tBodies[0];
      const key = (row) => row.cells[index].dataset.v ?? row.cells[index].textContent;
      const order = (a, b) => head.classList.contains("n")
        ? (parseFloat(key(a)) || 0) - (parseFloat(key(b)) || 0)
        : key(a).localeCompare(key(b));
      [...body.rows].sort((a, b) => (up ? 1 : -1) * order(a, b)).forEach((row) => body.append(row));
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(); });
  });
}
