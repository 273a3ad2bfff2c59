// Runs Netron's own modules inside a sandboxed frame that can reach no network: every module is a
// blob, the model comes with the page, and the frame's security policy forbids the rest.

/** @param {string} text base64 @returns {Uint8Array} */
const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

/** @param {Uint8Array} bytes gzip data @returns {Response} its content */
const unpacked = (bytes) =>
  new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));

/** @param {string} id of a <script> that holds base64 of gzip data */
const content = (id) => unpacked(bytesOf(document.getElementById(id).textContent.trim()));

const files = await content("netron-files").json();
const links = new Map();

/** @param {string} name of one of Netron's files @returns {string} a URL of it, imports resolved */
const link = (name) => {
  if (!links.has(name)) {
    const file = name.replace(/^\.\//, "");
    if (!(file in files)) {
      throw new Error(`This view does not carry Netron's '${file}'.`);
    }
    const text = files[file]
      .replace(/(from\s+)(['"])(\.\/[\w-]+\.js)\2/g, (_, from, quote, other) => `${from}"${link(other)}"`)
      .replace(/\bimport\((['"])(\.\/[\w-]+\.js)\1\)/g, 'self.etlabImport("$2")');
    links.set(name, URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
  }
  return links.get(name);
};
self.etlabImport = async (name) => import(link(name));

const browser = await import(link("./browser.js"));
const view = await import(link("./view.js"));

class Host extends browser.Host {
  constructor() {
    const evaluate = window.eval;
    super();
    window.eval = evaluate; // the policy of the frame forbids it anyway; test drivers need it
  }

  async view(one) {
    this._view = one;
  }

  async start() {
    const model = JSON.parse(document.getElementById("netron-model-name").textContent);
    const file = new File([await content("netron-model").arrayBuffer()], model);
    await this._open(file, [file]);
    document.body.dataset.etlab = "ready";
  }

  async require(id) {
    return self.etlabImport(`${id}.js`);
  }

  environment(name) {
    return name === "serial" ? true : super.environment(name); // layout without a worker
  }

  async asset(file) {
    return files[file] ?? "[]";
  }

  openURL() {}
  exception() {}
  event() {}
  get() {
    return undefined;
  }
  set() {}
  delete() {}
}

try {
  window.exports = {};
  window.__view__ = new view.View(new Host());
  await window.__view__.start();
} catch (error) {
  document.body.className = "";
  document.body.textContent = `Netron could not open the program: ${error.message}`;
  document.body.dataset.etlab = "failed";
}
