// Columns as the kernel packs them: bytes to numbers, codes to texts.

/**
 * @param {DataView} view
 * @returns {ArrayBuffer} a copy, aligned for any kind of number
 */
export function bufferOf(view) {
  return /** @type {ArrayBuffer} */ (view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
}

/**
 * A column of texts.
 * @typedef {object} Coded
 * @property {string[]} table
 * @property {Int32Array} codes
 * @property {(row: number) => string} at
 */

/**
 * @param {{table: string[], codes: DataView}} packedColumn
 * @returns {Coded}
 */
export function readCoded({ table, codes }) {
  const numbers = new Int32Array(bufferOf(codes));
  return { table, codes: numbers, at: (row) => table[numbers[row]] ?? "" };
}
