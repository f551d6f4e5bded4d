// Runs @NAME@.wasm, which lies beside this file. Written by @COMPILER@.
//
//   import { open } from "./@NAME@.mjs";
//   const model = await open();
//   const outputs = model.run({ x: new Float32Array(16) });
//
// `inputs` and `outputs` describe the tensors, which are dense and row-major. Elements of f16 and bf16 are integers of
// their bits, and an i1 is a byte. One call of `run` is one step. `reset` sets states to their initial values.

export const inputs = @INPUTS@;
export const outputs = @OUTPUTS@;
// A step computes this number of requests; its outputs are those of the inputs of this number of steps, less one, before.
export const requests = @REQUESTS@;

const arrays = { Float32Array, Float64Array, Uint16Array, Int16Array, Int32Array, Uint32Array, BigInt64Array,
  BigUint64Array, Int8Array, Uint8Array };
const elementsOf = port => port.shape.reduce((product, extent) => product * extent, 1);

/** The bytes of the module, in a browser or under Node. */
async function read(url) {
  if (url.protocol === "file:")
    return (await import("node:fs/promises")).readFile(url);
  const response = await fetch(url);
  if (!response.ok)
    throw new Error(`cannot load the module, '${url}', the server answered ${response.status}`);
  return response.arrayBuffer();
}

/** Opens the model. Each has a memory of its own. */
export async function open() {
  const { instance } = await WebAssembly.instantiate(await read(new URL("@NAME@.wasm", import.meta.url)), {});
  const { memory, __heap_base: heap, sluice_model_init: init, sluice_model_run: step,
    sluice_model_message: messageOf } = instance.exports;

  // Behind the module's own data: the two lists of addresses, then the tensors.
  // Addresses of WebAssembly are numbers of 32 bits, which JavaScript reads as signed.
  let end = heap.value >>> 0;
  const reserve = bytes => {
    const at = Math.ceil(end / 64) * 64;
    end = at + bytes;
    return at;
  };
  const lists = [inputs, outputs].map(ports => reserve(4 * ports.length));
  const addresses = [inputs, outputs].map(ports => ports.map(port => reserve(port.bytes)));
  const missing = end - memory.buffer.byteLength;
  if (missing > 0)
    try {
      memory.grow(Math.ceil(missing / 65536));
    } catch {
      throw new Error(`no memory for the model, which needs ${end} bytes, close other pages or use a smaller model`);
    }
  addresses.forEach((list, kind) => new Uint32Array(memory.buffer, lists[kind], list.length).set(list));
  const view = (port, address) => new arrays[port.array](memory.buffer, address, elementsOf(port));
  init();

  return {
    inputs,
    outputs,
    reset: init,
    /** One step. `values` has an array for the name of each input; the result, for the name of each output. */
    run(values) {
      inputs.forEach((port, number) => {
        const value = values[port.name];
        if (!(value instanceof arrays[port.array]) || value.length !== elementsOf(port))
          throw new Error(`input '${port.name}' needs ${elementsOf(port)} elements of ${port.array}, give such an array`);
        view(port, addresses[0][number]).set(value);
      });
      const status = step(lists[0], lists[1]);
      if (status !== 0) {
        const bytes = new Uint8Array(memory.buffer, messageOf(status) >>> 0);
        throw new Error(new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0))));
      }
      return Object.fromEntries(outputs.map((port, number) => [port.name, view(port, addresses[1][number]).slice()]));
    },
  };
}
