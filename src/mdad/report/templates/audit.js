"use strict";
(async () => {
  const report = JSON.parse(document.getElementById("report-data").textContent);
  const views = {};
  for (const [name, spec] of Object.entries(report.charts)) {
    const result = await vegaEmbed("#" + name, spec, { actions: false, renderer: "svg" });
    views[name] = result.view;
  }

  const hidden = new Set();
  for (const button of document.querySelectorAll("button.method")) {
    button.disabled = false;
    button.addEventListener("click", () => {
      const number = Number(button.dataset.number);
      if (!hidden.delete(number)) hidden.add(number);
      button.setAttribute("aria-pressed", String(!hidden.has(number)));
      for (const name of ["mdad-seen", "mdad-unseen"]) {
        views[name].signal("hidden", [...hidden]).runAsync();
      }
    });
  }

  const method = document.getElementById("method");
  const size = document.getElementById("size");
  const bins = (rows) =>
    rows.map((row) => Object.fromEntries(report.columns.map((column, i) => [column, row[i]])));
  const show = () => {
    const cell = report.cells.find(
      (one) => one.method === report.methods[Number(method.value)] && one.size === Number(size.value),
    );
    document.getElementById("sentences").replaceChildren(
      ...cell.text.map((line) => Object.assign(document.createElement("p"), { textContent: line })),
    );
    views.agreement.data("curve", bins(cell.agreement)).data("marks", cell.agreementMarks).runAsync();
    views.trust.data("curve", bins(cell.trust)).data("marks", cell.trustMarks).runAsync();
    views.gaps.signal("limit", cell.gapsMarks[0].limit).data("marks", cell.gapsMarks).runAsync();
  };
  method.addEventListener("change", show);
  size.addEventListener("change", show);
  document.getElementById("choice").hidden = false;
  document.documentElement.dataset.ready = "true";
})();
