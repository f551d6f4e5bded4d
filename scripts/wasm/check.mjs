// Runs a module of `sluice compile --emit wasm` on arrays of .npy files, and compares its outputs with references: under
// Node for scripts/run_targets, and in a browser, which imports `check`.
//
// usage: node check.mjs NAME.mjs FOLDER [STEPS]
//
// FOLDER is one that `sluice run --keep` wrote, with input_0.npy, output_0.npy and so on. Prints JSON in the form of
// sluice-runner, and exits with 1 if an output differs. STEPS, by default 1, are run, and the second half
// of them is timed.

const tolerance = 5e-4;
const isNode = globalThis.process?.versions?.node !== undefined;

/** The bytes of a file, or null where there is none. */
async function read(url) {
  if (url.protocol === "file:") {
    const { existsSync, readFileSync } = await import("node:fs");
    return existsSync(url) ? new Uint8Array(readFileSync(url)) : null;
  }
  const response = await fetch(url);
  return response.ok ? new Uint8Array(await response.arrayBuffer()) : null;
}

/** The elements of an .npy file of version 1 as an array of that kind; null where there is no file. */
async function readArray(url, kind) {
  const bytes = await read(url);
  if (!bytes)
    return null;
  const start = 10 + bytes[8] + 256 * bytes[9];
  return new globalThis[kind](bytes.slice(start).buffer);
}

/** The numbers of a tensor; elements of f16 and bf16 are given as integers of their bits. */
function numbers(array, type) {
  if (type === "bf16")
    return new Float32Array(Uint32Array.from(array, bits => bits << 16).buffer);
  if (type !== "f16")
    return array;
  return Float32Array.from(array, bits => {
    const exponent = bits >> 10 & 31, mantissa = bits & 1023;
    const size = exponent === 31 ? (mantissa ? NaN : Infinity)
      : exponent ? (1 + mantissa / 1024) * 2 ** (exponent - 15) : mantissa * 2 ** -24;
    return bits & 0x8000 ? -size : size;
  });
}

/** Greatest difference by greatest value, and the cosine of the angle between both. */
function compare(name, found, reference) {
  if (found.length !== reference.length)
    throw new Error(`output '${name}' has ${found.length} elements and its reference ${reference.length}, give its own`);
  let difference = 0, most = 0, product = 0, squares = 0, references = 0;
  for (let i = 0; i < found.length; ++i) {
    const value = Number(found[i]), expected = Number(reference[i]);
    const apart = Math.abs(value - expected);
    // A NaN stays.
    if (!(apart <= difference) && !Number.isNaN(difference))
      difference = apart;
    most = Math.max(most, Math.abs(expected));
    product += value * expected;
    squares += value * value;
    references += expected * expected;
  }
  const ratio = difference === 0 ? 0 : difference / most;
  return { name, ratio, cosine: squares === 0 && references === 0 ? 1 : product / Math.sqrt(squares * references) };
}

/** What an open model computes for the arrays of a folder, in the form of sluice-runner. */
export async function check(model, folder, steps = 1) {
  const values = {}, outputs = [];
  for (const [number, port] of model.inputs.entries())
    values[port.name] = await readArray(new URL(`input_${number}.npy`, folder), port.array);
  // Engines compile a module twice, quickly and then well, and browsers have coarse clocks: the second half of the steps
  // is timed as a whole.
  const timed = Math.ceil(steps / 2);
  let found, begin;
  for (let step = 0; step < steps; ++step) {
    if (step === steps - timed)
      begin = performance.now();
    model.reset();
    found = model.run(values);
  }
  const stepMs = (performance.now() - begin) / timed;
  for (const [number, port] of model.outputs.entries()) {
    const reference = await readArray(new URL(`output_${number}.npy`, folder), port.array);
    if (reference)
      outputs.push(compare(port.name, numbers(found[port.name], port.type), numbers(reference, port.type)));
  }
  return { passes: outputs.every(output => output.ratio <= tolerance), compared: outputs.length, outputs,
    stepMs };
}

if (isNode) {
  const { fileURLToPath, pathToFileURL } = await import("node:url");
  const [script, file, folder, steps] = process.argv.slice(1);
  if (script === fileURLToPath(import.meta.url)) {
    const { open } = await import(pathToFileURL(file));
    const result = await check(await open(), pathToFileURL(folder + "/"), Number(steps ?? 1));
    console.log(JSON.stringify(result));
    process.exitCode = result.passes && result.compared > 0 ? 0 : 1;
  }
}
