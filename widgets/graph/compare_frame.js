// The elements of a CompareView, without what they do.

import { element } from "../view/dom.js";

/** @param {string[]} titles */
export function compareFrame(titles) {
  /** @type {(text: string, label: string) => HTMLButtonElement} */
  const button = (text, label) => element("button", { type: "button", "aria-label": label, title: label }, [text]);
  const query = element("input", { type: "search", placeholder: "find: op:conv dtype:int8 …", "aria-label": "Find nodes in all graphs" });
  const found = element("span", { class: "etlab-view-found", role: "status" });
  const sync = element("input", { type: "checkbox", checked: "" });
  const colour = element("select", { "aria-label": "Colour by" });
  const list = element("select", { "aria-label": "Differences", class: "etlab-cv-list" });
  const backButton = button("↑", "Last difference (N)");
  const nextButton = button("↓", "Next difference (n)");
  const fitButton = button("⤢", "Fit the drawings (f)");
  const bar = element("div", { class: "etlab-view-bar", role: "toolbar", "aria-label": "Comparison" }, [
    query,
    found,
    element("span", { class: "etlab-view-fill" }),
    list,
    backButton,
    nextButton,
    element("label", { class: "etlab-view-label" }, [sync, "together"]),
    element("label", { class: "etlab-view-label" }, ["colour by", colour]),
    fitButton,
  ]);
  const stages = titles.map((title) =>
    element("div", { class: "etlab-gv-stage", tabindex: "0", role: "group", "aria-label": `Drawing of ${title}` }),
  );
  const body = element(
    "div",
    { class: "etlab-cv-body" },
    titles.map((title, k) =>
      element("div", { class: "etlab-cv-pane" }, [element("div", { class: "etlab-cv-title" }, [title]), stages[k]]),
    ),
  );
  body.style.gridTemplateColumns = `repeat(${titles.length > 4 ? 3 : titles.length === 4 ? 2 : titles.length}, 1fr)`;
  const facts = element("tbody", {});
  const heads = ["fact", ...titles].map((title) => element("th", { scope: "col" }, [title]));
  const table = element("table", { class: "etlab-cv-facts" }, [element("thead", {}, [element("tr", {}, heads)]), facts]);
  const legend = element("div", { class: "etlab-view-legend", role: "group", "aria-label": "Legend" });
  const status = element("div", { class: "etlab-view-status", role: "status", "aria-live": "polite" });
  const foot = element("div", { class: "etlab-view-foot" }, [legend, status]);
  const root = element(
    "div",
    { class: "etlab-view etlab-gv", "data-lm-suppress-shortcuts": "true", role: "region", "aria-label": "Comparison of graphs" },
    [bar, body, element("div", { class: "etlab-cv-table" }, [table]), foot],
  );
  return { root, query, found, sync, colour, list, backButton, nextButton, fitButton, stages, body, facts, legend, status };
}
