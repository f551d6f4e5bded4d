//===- WasmModule.cpp - A model for browsers ------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "WasmModule.h"

#include "FreestandingCheck.h"
#include "WasmOffsets.h"
#include "WasmTexts.h"
#include "passes/ExecToLLVM/Passes.h"
#include "sluice/Support/Json.h"
#include "sluice/Support/Text.h"

#include "llvm/ADT/StringSwitch.h"
#include <algorithm>
#include <nlohmann/json.hpp>

namespace sluice {

namespace {

/// Addresses of wasm32 have 32 bits.
constexpr int64_t kMostModuleBytes = int64_t(1) << 32;

/// JavaScript's array of an element type; elements that it has no numbers for are integers of their bits. Empty: none.
std::string arrayOf(const std::string &elementType) {
  return llvm::StringSwitch<std::string>(elementType)
      .Case("f32", "Float32Array")
      .Case("f64", "Float64Array")
      .Cases({"f16", "bf16", "ui16"}, "Uint16Array")
      .Cases({"i16", "si16"}, "Int16Array")
      .Cases({"i32", "si32"}, "Int32Array")
      .Case("ui32", "Uint32Array")
      .Cases({"i64", "si64"}, "BigInt64Array")
      .Case("ui64", "BigUint64Array")
      .Cases({"i8", "si8"}, "Int8Array")
      .Cases({"i1", "ui8"}, "Uint8Array")
      .Default("");
}

Expected<Json> describeArrays(std::span<const PortInfo> ports) {
  Json list = Json::array();
  for (const PortInfo &port : ports) {
    const std::string array = arrayOf(port.elementType);
    if (array.empty())
      return makeError(ErrorCode::Unsupported, "tensor '", excerpt(port.name), "' has elements of type '",
                       port.elementType, "', for which JavaScript has no arrays, cast this tensor in the model");
    Json entry;
    entry["name"] = port.name;
    entry["type"] = port.elementType;
    entry["array"] = array;
    entry["shape"] = port.shape;
    entry["bytes"] = port.bytes;
    list.push_back(entry);
  }
  return list;
}

/// The text with each word replaced by its value. Values are not searched: names of tensors may have such words.
std::string filled(std::string_view text, std::span<const std::pair<std::string_view, std::string>> words) {
  std::string result;
  while (!text.empty()) {
    const auto *word = std::find_if(words.data(), words.data() + words.size(),
                                    [&](const auto &each) { return text.starts_with(each.first); });
    const bool isWord = word != words.data() + words.size();
    result += isWord ? std::string_view(word->second) : text.substr(0, 1);
    text.remove_prefix(isWord ? word->first.size() : 1);
  }
  return result;
}

Expected<std::string> findWasmLinker() {
  for (const char *name : {"wasm-ld-22", "wasm-ld"})
    if (std::string tool = findTool(name); !tool.empty())
      return tool;
  return makeError(ErrorCode::NotFound,
                   "no linker for target 'cpu:wasm32' found, option '--emit wasm', install lld-22 (wasm-ld)");
}

/// The bytes of a module that exports its memory and the functions of kFreestandingEntries.
Expected<std::string> linkWasm(const LinkJob &job, const ManifestInfo &info, std::span<const std::string> objects) {
  SLUICE_ASSIGN_OR_RETURN(std::string linker, findWasmLinker());
  SLUICE_ASSIGN_OR_RETURN(std::vector<std::string> arguments, job.writeObjects(objects));
  // The linker's own error for a missing function names no operator.
  const std::string joined = job.file("joined.o"), linked = job.file("linked.wasm");
  arguments.insert(arguments.begin(), {"-r", "-o", joined});
  SLUICE_RETURN_IF_ERROR(job.run(linker, arguments));
  SLUICE_ASSIGN_OR_RETURN(std::string object, readFile(joined, kMostModuleBytes));
  SLUICE_RETURN_IF_ERROR(checkFreestanding(object, info.kernels));
  // The stack lies below all data, so that an overflow traps and changes no data.
  arguments = {"--no-entry", "--stack-first", concat("-zstack-size=", kWasmStackBytes), "--strip-all",
               "--export=__heap_base"};
  for (const char *entry : kFreestandingEntries)
    arguments.push_back(concat("--export=", entry));
  arguments.insert(arguments.end(), {"-o", linked, joined});
  SLUICE_RETURN_IF_ERROR(job.run(linker, arguments));
  return readFile(linked, kMostModuleBytes);
}

} // namespace

Status writeWasmModule(const LinkJob &job, const ManifestInfo &info, std::span<const std::string> objects,
                       const std::string &directory, const std::string &name) {
  SLUICE_ASSIGN_OR_RETURN(Json inputs, describeArrays(info.inputs));
  SLUICE_ASSIGN_OR_RETURN(Json outputs, describeArrays(info.outputs));
  SLUICE_ASSIGN_OR_RETURN(std::string module, linkWasm(job, info, objects));
  auto text = [](const Json &json) {
    return json.dump(/*indent=*/1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  };
  const std::pair<std::string_view, std::string> words[] = {{"@NAME@", name},
                                                            {"@COMPILER@", compilerVersion()},
                                                            {"@INPUTS@", text(inputs)},
                                                            {"@OUTPUTS@", text(outputs)},
                                                            {"@REQUESTS@", std::to_string(info.requests)}};
  const std::string path = concat(directory, "/", name);
  SLUICE_RETURN_IF_ERROR(writeFileAtomically(path + ".wasm", module));
  SLUICE_RETURN_IF_ERROR(writeFileAtomically(path + ".mjs", filled(kWasmLoader, words)));
  return writeFileAtomically(path + ".html", filled(kWasmPage, words));
}

} // namespace sluice
