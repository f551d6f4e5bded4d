// What a module of `--emit wasm` says of arrays that are not those of its first input.
import { pathToFileURL } from "node:url";
const model = await (await import(pathToFileURL(process.argv[2]))).open();
const [port] = model.inputs;
for (const values of [{}, { [port.name]: new Uint8Array(port.bytes) }, { [port.name]: new Float32Array(3) }])
  try {
    model.run(values);
    console.log("accepted");
  } catch (error) {
    console.log(error.message);
  }
