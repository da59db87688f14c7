"use strict";
(async () => {
  const byId = (id) => document.getElementById(id);
  const options = { actions: false, renderer: "svg", tooltip: { theme: "page" } };

  const views = {};
  for (const [name, chart] of Object.entries(JSON.parse(byId("charts").textContent))) {
    // The drawing stays in place until its live chart is ready, and for good when that fails.
    const place = document.createElement("div");
    byId(name).append(place);
    try {
      views[name] = (await vegaEmbed(place, chart, options)).view;
      byId(name).querySelector(":scope > svg").remove();
    } catch (error) {
      place.remove();
      throw error;
    }
  }

  const hidden = new Set();
  for (const button of byId("legend").querySelectorAll("button")) {
    button.disabled = false;
    button.addEventListener("click", () => {
      const number = Number(button.dataset.number);
      if (!hidden.delete(number)) hidden.add(number);
      button.setAttribute("aria-pressed", String(!hidden.has(number)));
      for (const name of ["mdad-seen", "mdad-unseen"]) {
        views[name]?.signal("hidden", [...hidden]).runAsync();
      }
    });
  }
  byId("legend").querySelector(".hint").hidden = false;

  const packed = Uint8Array.from(atob(byId("cells").textContent), (char) => char.charCodeAt(0));
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const cells = JSON.parse(await new Response(unpacked).text());
  const columns = ["items", "gap", "mean", "low", "high", "fit", "pairs", "dot"];
  const bins = (rows) =>
    rows.map((row) => Object.fromEntries(columns.map((column, i) => [column, row[i]])));

  const show = () => {
    const cell = cells[Number(byId("method").value)][Number(byId("size").value)];
    byId("sentences").replaceChildren(
      ...cell.text.map((line) => Object.assign(document.createElement("p"), { textContent: line })),
    );
    for (const kind of ["agreement", "trust"]) {
      views[kind]
        .signal("end", cell[kind + "End"])
        .data("curve", bins(cell[kind]))
        .data("marks", cell[kind + "Marks"])
        .runAsync();
    }
    views.gaps.signal("limit", cell.gapsMarks[0].limit).data("marks", cell.gapsMarks).runAsync();
  };
  byId("method").addEventListener("change", show);
  byId("size").addEventListener("change", show);
  byId("choice").addEventListener("submit", (event) => event.preventDefault());
  byId("choice").hidden = false;
  document.documentElement.dataset.ready = "true";
})();
