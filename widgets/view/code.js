// Python that does the same: shown and copied.

/**
 * Where the page may not copy, the text is selected so that a key does.
 * @param {HTMLElement} shown where the text stands
 * @param {string} text
 * @param {(text: string) => void} say
 */
function copyText(shown, text, say) {
  const chooseText = () => {
    document.getSelection()?.selectAllChildren(shown);
    say("selected; copy it with Ctrl+C");
  };
  if (!navigator.clipboard) return chooseText();
  navigator.clipboard.writeText(text).then(() => say("copied"), chooseText);
}

/**
 * @param {HTMLElement} pressed the button
 * @param {HTMLElement} shown where the code stands, hidden at first
 * @param {() => string} code
 * @param {(text: string) => void} say
 * @returns {() => void} shows and copies the code, or hides it
 */
export function makeCodeToggle(pressed, shown, code, say) {
  const toggle = () => {
    shown.hidden = !shown.hidden;
    pressed.setAttribute("aria-pressed", String(!shown.hidden));
    shown.textContent = code();
    if (!shown.hidden) copyText(shown, code(), say);
  };
  pressed.addEventListener("click", toggle);
  return toggle;
}
