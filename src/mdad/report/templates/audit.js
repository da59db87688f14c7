"use strict";
(async () => {
  const byId = (id) => document.getElementById(id);
  const unpacked = async (id) => {
    const bytes = Uint8Array.from(atob(byId(id).textContent), (char) => char.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  };
  const library = document.createElement("script");
  library.textContent = await unpacked("library");
  document.head.append(library);
  const live = JSON.parse(await unpacked("live"));

  const options = { actions: false, renderer: "svg", tooltip: { theme: "page" } };
  const views = {};
  for (const [name, chart] of Object.entries(JSON.parse(await unpacked("charts")))) {
    // The drawing stays in place until its live chart is ready, and for good when that fails.
    const place = document.createElement("div");
    // What a chart says is in its label and in the tables; its marks say nothing one by one.
    place.setAttribute("aria-hidden", "true");
    byId(name).append(place);
    try {
      views[name] = (await vegaEmbed(place, chart, options)).view;
      byId(name).querySelector(":scope > svg").remove();
    } catch (error) {
      place.remove();
      throw error;
    }
  }
  const claims = ["seen", "unseen"].filter((items) => views["mdad-" + items]);
  const put = (name, data, signals = {}) => {
    for (const [signal, value] of Object.entries(signals)) views[name].signal(signal, value);
    for (const [place, values] of Object.entries(data)) views[name].data(place, values);
    return views[name].runAsync();
  };
  const write = (place, lines) =>
    place.replaceChildren(
      ...lines.map((line) => Object.assign(document.createElement("p"), { textContent: line })),
    );
  const chosen = (id) => Number(byId(id)?.value ?? 0);
  const split = () => live.splits[chosen("split")];

  const bins = (columns) =>
    Object.entries(columns).flatMap(([items, [gap, mean, low, high, fit, pairs]]) =>
      gap.map((_, i) => ({
        items,
        gap: gap[i] / 1000,
        mean: mean[i] / 1000,
        low: low[i] === null ? null : low[i] / 1000,
        high: high[i] === null ? null : high[i] / 1000,
        fit: fit[i] / 1000,
        pairs: pairs[i],
      })),
    );
  const dotted = (rows) => {
    const most = Math.max(1, ...rows.map((row) => row.pairs));
    return rows.map((row) => ({ ...row, dot: row.pairs / most }));
  };

  const showAdvice = () => {
    const step = chosen("wanted");
    const gap = live.gaps[step];
    const said = gap + (gap === 1 ? " point" : " points");
    byId("wanted-said").textContent = said;
    byId("wanted").setAttribute("aria-valuetext", said);
    write(byId("advice"), split().recommend[byId("claim")?.value ?? "seen"][step]);
    for (const items of claims) put("mdad-" + items, { wanted: [{ wanted: gap }] });
  };

  const showCell = () => {
    const size = byId("size");
    if (size) {
      const said = Number(size.dataset.sizes.split(" ")[chosen("size")]).toLocaleString("en");
      byId("size-said").textContent = said;
      size.setAttribute("aria-valuetext", said + " items");
    }
    const cell = split().cells[chosen("method")][chosen("size")];
    write(byId("sentences"), cell.text);
    byId("misleading-said").textContent = cell.misleading;
    for (const kind of ["agreement", "trust"]) {
      const data = { curve: dotted(bins(cell[kind])), marks: cell[kind + "Marks"] };
      put(kind, data, { end: cell[kind + "End"] });
    }
    const limits = { limit: cell.gapsMarks[0].limit, widest: split().widest };
    put("gaps", { gaps: split().gaps, marks: cell.gapsMarks }, limits);
  };

  const showAcross = () => {
    for (const items of claims) {
      put("splits-" + items, { splits: live.acrossSplits[chosen("across-method")][items] });
    }
  };

  const showTables = () => {
    for (const part of document.querySelectorAll(".of-split")) {
      part.classList.toggle("off", Number(part.dataset.split) !== chosen("split"));
    }
  };

  const showSplit = () => {
    for (const items of claims) {
      put("mdad-" + items, { mdad: split().mdad[items] }, { top: split().top });
    }
    for (const what of ["error", "kendall_tau"]) put(what, { lines: split()[what] });
    put("scores", { scores: split().scores });
    showAdvice();
    showCell();
    showTables();
  };

  const buttons = [...byId("legend").querySelectorAll("button")];
  const toggled = ["error", "kendall_tau", ...claims.map((items) => "mdad-" + items)];
  for (const button of buttons) {
    button.disabled = false;
    button.addEventListener("click", () => {
      const shown = button.getAttribute("aria-pressed") === "true";
      button.setAttribute("aria-pressed", String(!shown));
      const hidden = buttons
        .filter((other) => other.getAttribute("aria-pressed") === "false")
        .map((other) => Number(other.dataset.number));
      for (const name of toggled) put(name, {}, { hidden });
    });
  }
  byId("hint").hidden = false;

  const forms = {
    which: { split: showSplit },
    wish: { wanted: showAdvice, claim: showAdvice },
    across: { "across-method": showAcross },
    choice: { method: showCell, size: showCell },
  };
  for (const [form, fields] of Object.entries(forms)) {
    if (!byId(form)) continue;
    byId(form).addEventListener("submit", (event) => event.preventDefault());
    byId(form).hidden = false;
    for (const [id, show] of Object.entries(fields)) byId(id)?.addEventListener("input", show);
  }
  showAdvice();
  showTables();
  if (byId("numbers-of")) byId("numbers-of").hidden = false;
  document.documentElement.dataset.ready = "true";
})();
