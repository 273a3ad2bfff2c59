// The modules around what is selected, as a path whose steps can be pressed.

import { element } from "../view/dom.js";
import { labels } from "./sizes.js";

/**
 * @param {HTMLElement} host
 * @param {import("./tree.js").Tree} tree
 * @param {(item: number) => void} onGo
 * @returns {(item: number) => void} shows the path of an item; -1: none
 */
export function makeCrumbs(host, tree, onGo) {
  const { count, group, groupParent } = tree.graph;
  return (item) => {
    const around = [];
    for (let g = item < 0 ? 0 : item < count ? group[item] : item - count; g > 0; g = groupParent[g]) around.unshift(g);
    host.replaceChildren(
      ...around.flatMap((g) => {
        const step = element("button", { type: "button" }, [labels(tree, count + g)[0]]);
        step.addEventListener("click", () => onGo(count + g));
        return ["›", step];
      }),
    );
  };
}
