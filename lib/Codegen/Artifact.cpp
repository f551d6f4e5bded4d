//===- Artifact.cpp - The files of a compiled model -*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/Codegen/Artifact.h"

#include "lib/Runtime/Sha256.h"
#include "sluice/Runtime/abi.h"
#include "sluice/Support/Json.h"
#include "sluice/Support/Temporaries.h"
#include "sluice/Support/Units.h"

#include "llvm/Config/llvm-config.h"
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <set>
#include <unistd.h>

namespace sluice {

std::string compilerVersion() { return "sluice " SLUICE_VERSION " (LLVM " LLVM_VERSION_STRING ")"; }

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

struct ParameterFileWriter::Impl {
  Impl(std::string path, PendingFile file) : path(std::move(path)), file(std::move(file)) {}

  std::string path;
  PendingFile file;
  int64_t bytes = 0;
  runtime::Sha256 hash;
  std::vector<std::string> pieceHashes; ///< Of those that are over.
  bool hasPieces = false;
};

ParameterFileWriter::ParameterFileWriter(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
ParameterFileWriter::ParameterFileWriter(ParameterFileWriter &&) noexcept = default;
ParameterFileWriter &ParameterFileWriter::operator=(ParameterFileWriter &&) noexcept = default;
ParameterFileWriter::~ParameterFileWriter() = default;

Expected<ParameterFileWriter> ParameterFileWriter::create(const std::string &path) {
  SLUICE_ASSIGN_OR_RETURN(PendingFile file, PendingFile::create(path));
  return ParameterFileWriter(std::make_unique<Impl>(path, std::move(file)));
}

Status ParameterFileWriter::write(std::span<const std::byte> data) {
  impl->hash.update(data.data(), data.size());
  impl->bytes += static_cast<int64_t>(data.size());
  return impl->file.write({reinterpret_cast<const char *>(data.data()), data.size()});
}

Status ParameterFileWriter::padTo(int64_t alignment) {
  static constexpr std::byte kPadding[kParameterPage] = {};
  return write({kPadding, static_cast<size_t>((alignment - impl->bytes % alignment) % alignment)});
}

Expected<int64_t> ParameterFileWriter::beginTensor(int64_t alignment) {
  SLUICE_RETURN_IF_ERROR(padTo(alignment));
  return impl->bytes;
}

Status ParameterFileWriter::endPiece() {
  SLUICE_RETURN_IF_ERROR(padTo(kParameterPage));
  if (impl->hasPieces)
    impl->pieceHashes.push_back(std::exchange(impl->hash, {}).finish());
  return {};
}

Expected<int64_t> ParameterFileWriter::beginPiece() {
  SLUICE_RETURN_IF_ERROR(endPiece());
  impl->hasPieces = true;
  return impl->bytes;
}

Expected<int64_t> ParameterFileWriter::append(std::span<const std::byte> data) {
  Expected<int64_t> offset = beginTensor();
  if (!offset)
    return offset;
  SLUICE_RETURN_IF_ERROR(write(data));
  return offset;
}

Expected<ParameterFileWriter::Summary> ParameterFileWriter::finish() {
  Summary summary;
  SLUICE_RETURN_IF_ERROR(impl->hasPieces ? endPiece() : Status());
  summary.bytes = impl->bytes;
  if (impl->bytes == 0) {
    // A file of an earlier compilation would no longer belong to the manifest.
    unlink(impl->path.c_str());
    impl.reset();
    return summary;
  }
  for (const std::string &piece : impl->pieceHashes)
    impl->hash.update(piece.data(), piece.size());
  summary.hash = impl->hash.finish();
  summary.pieceHashes = std::move(impl->pieceHashes);
  SLUICE_RETURN_IF_ERROR(impl->file.keep());
  return summary;
}

int64_t ParameterFileWriter::Summary::rankBytes() const {
  int64_t total = sections.empty() ? bytes : 0;
  for (const ParameterSection &section : sections)
    total += section.bytes;
  return total;
}

//===----------------------------------------------------------------------===//
// Manifest
//===----------------------------------------------------------------------===//

Json portsToJson(std::span<const PortInfo> ports) {
  Json list = Json::array();
  for (const PortInfo &port : ports) {
    Json shape = Json::array();
    for (size_t d = 0; d < port.shape.size(); ++d)
      shape.push_back(port.expression(d).empty() ? Json(port.shape[d]) : Json(port.expression(d)));
    list.push_back(
        {{"name", port.name}, {"type", port.elementType}, {"shape", std::move(shape)}, {"bytes", port.bytes}});
  }
  return list;
}

Json symbolsToJson(std::span<const SymbolInfo> symbols) {
  Json list = Json::array();
  for (const SymbolInfo &symbol : symbols) {
    Json &entry = list.emplace_back(
        Json{{"name", symbol.name}, {"least", symbol.least}, {"most", symbol.most}, {"step", symbol.step}});
    if (symbol.isFound) {
      entry["found"] = true;
    } else if (!symbol.state.empty()) {
      entry["state"] = symbol.state;
    } else {
      entry["input"] = symbol.input;
      entry["dimension"] = symbol.dimension;
    }
  }
  return list;
}

Status writeManifest(const std::string &directory, const ManifestInfo &info, const std::string &modelHash) {
  constexpr int kSchema = 1;
  Json json = {{"schema", kSchema},
               {"name", info.name},
               {"abi_major", SLUICE_ABI_MAJOR},
               {"abi_minor", SLUICE_ABI_MINOR},
               {"compiler", compilerVersion()},
               {"cpu_features", info.cpuFeatures},
               {"model", kModelFile},
               {"model_hash", modelHash},
               {"parameters", info.parameters.bytes ? kParameterFile : ""},
               {"parameter_bytes", info.parameters.bytes},
               {"parameter_hash", info.parameters.hash},
               {"inputs", portsToJson(info.inputs)},
               {"outputs", portsToJson(info.outputs)}};
  if (!info.symbols.empty())
    json["symbols"] = symbolsToJson(info.symbols);
  if (!info.buckets.empty())
    json["buckets"] = info.buckets;
  if (info.requests > 1)
    json["requests"] = info.requests;
  if (info.numRanks > 1) {
    json["ranks"] = info.numRanks;
    json["piece_hashes"] = info.parameters.pieceHashes;
    json["sections"] = Json::array();
    for (const ParameterSection &section : info.parameters.sections)
      json["sections"].push_back({{"bytes", section.bytes}, {"pieces", section.pieces}});
  }
  std::string text = jsonText(json, 2) + "\n";
  return writeFileAtomically(directory + "/" + kManifestFile, text);
}

//===----------------------------------------------------------------------===//
// C header
//===----------------------------------------------------------------------===//

namespace {

/// Upper-case C identifiers, each given once.
class MacroNames {
public:
  std::string unique(const std::string &prefix, const std::string &name) {
    std::string base = prefix;
    for (char c : name)
      base += std::isalnum(static_cast<unsigned char>(c)) && static_cast<unsigned char>(c) < 128
                  ? static_cast<char>(std::toupper(static_cast<unsigned char>(c)))
                  : '_';
    std::string result = base;
    for (int i = 2; !taken.insert(result).second; ++i)
      result = concat(base, "_", i);
    return result;
  }

private:
  std::set<std::string> taken;
};

/// Text that cannot end a comment or a line.
std::string inComment(const std::string &text) {
  std::string result;
  for (char c : text)
    result += std::isprint(static_cast<unsigned char>(c)) && c != '*' && c != '\\' ? c : '?';
  return result;
}

/// With `extents`, which must be numbers, an initializer of them.
void describePorts(std::ostringstream &out, MacroNames &names, const std::string &prefix, const std::string &kind,
                   std::span<const PortInfo> ports, bool extents = false) {
  out << "#define " << prefix << "NUM_" << kind << "S " << ports.size() << "\n";
  for (size_t i = 0; i < ports.size(); ++i) {
    const PortInfo &port = ports[i];
    int64_t elements = 1;
    out << "\n/* \"" << inComment(port.name) << "\": " << inComment(port.elementType) << "[";
    for (size_t d = 0; d < port.shape.size(); ++d) {
      out << (d ? "," : "") << (port.expression(d).empty() ? concat(port.shape[d]) : inComment(port.expression(d)));
      elements = saturatingMul(elements, port.shape[d]);
    }
    std::string macro = names.unique(prefix + kind + "_", port.name);
    out << "] */\n#define " << macro << " " << i << "\n#define " << macro << "_ELEMENTS " << elements << "\n#define "
        << macro << "_BYTES " << port.bytes << "\n";
    if (!extents)
      continue;
    out << "#define " << macro << "_RANK " << port.shape.size() << "\n";
    for (size_t d = 0; d < port.shape.size(); ++d)
      out << (d ? ", " : "#define " + macro + "_EXTENTS { ") << port.shape[d];
    out << (port.shape.empty() ? "" : " }\n");
  }
  out << "\n";
}

/// Nothing of a model whose steps compute one request.
void describeRequests(std::ostringstream &out, const std::string &prefix, const ManifestInfo &info) {
  if (info.requests > 1)
    out << "/* A step computes this number of requests. Its outputs are those of the inputs of this number of steps,\n"
           " * less one, before. */\n#define "
        << prefix << "NUM_REQUESTS " << info.requests << "\n\n";
}

/// Nothing of a model without symbols.
void describeSymbols(std::ostringstream &out, MacroNames &names, const std::string &prefix, const ManifestInfo &info) {
  if (info.symbols.empty())
    return;
  out << "/* Extents that sluice_set_shapes changes between steps. Numbers of elements and bytes are those of the\n"
         " * greatest extents. */\n#define "
      << prefix << "NUM_SYMBOLS " << info.symbols.size() << "\n";
  for (size_t i = 0; i < info.symbols.size(); ++i) {
    const SymbolInfo &symbol = info.symbols[i];
    const std::string macro = names.unique(prefix + "SYMBOL_", symbol.name);
    out << "\n/* \"" << inComment(symbol.name) << "\": ";
    if (symbol.isFound)
      out << "found in each step";
    else if (!symbol.state.empty())
      out << "the length of state \"" << inComment(symbol.state) << "\", kept from step to step";
    else
      out << "dimension " << symbol.dimension << " of input \"" << inComment(info.inputs[symbol.input].name) << "\"";
    out << " */\n#define " << macro << " " << i << "\n#define " << macro << "_LEAST " << symbol.least << "\n#define "
        << macro << "_MOST " << symbol.most << "\n#define " << macro << "_STEP " << symbol.step << "\n";
  }
  out << "\n";
}

/// Nothing of a model that is opened by its directory.
void declareFunctions(std::ostringstream &out, const HeaderFunctions &functions) {
  if (functions.model.empty() && functions.open.empty())
    return;
  out << "#ifdef __cplusplus\nextern \"C\" {\n#endif\n";
  if (!functions.model.empty())
    out << "const sluice_model *" << functions.model << "(void);\n";
  if (!functions.open.empty())
    out << "/* As sluice_open_model, with the parameters that the library holds. */\nsluice_session *" << functions.open
        << "(const sluice_options *options);\n";
  out << "#ifdef __cplusplus\n}\n#endif\n\n";
}

/// The lines of a header's example that declare the addresses of inputs and outputs.
std::string declareArrays(const std::string &prefix) {
  return concat(" *   const void *inputs[", prefix, "NUM_INPUTS];   ...each where its bytes are, dense, row-major\n",
                " *   void *outputs[", prefix, "NUM_OUTPUTS];\n");
}

} // namespace

Status writeFreestandingHeader(const std::string &directory, const ManifestInfo &info,
                               const FreestandingFunctions &functions, const std::string &processor) {
  const auto &[init, run, message] = functions;
  MacroNames names;
  const std::string prefix = names.unique("SLUICE_", info.name) + "_";
  std::ostringstream out;
  out << "/* Model '" << inComment(info.name) << "' without a runtime, written by " << compilerVersion()
      << ".\n *\n"
         " *   "
      << init << "();\n"
      << declareArrays(prefix) << " *   int32_t status = " << run
      << "(inputs, outputs);\n"
         " *   if (status) puts("
      << message
      << "(status));\n"
         " *\n"
         " * The code starts no thread, allocates nothing and calls memcpy, memmove and memset only. It needs a\n"
         " * processor with "
      << inComment(processor)
      << ". One thread at a time may call init and run.\n"
         " */\n"
      << "#ifndef " << prefix << "MODEL_H\n#define " << prefix << "MODEL_H\n\n#include <stdint.h>\n\n"
      << "/* Static memory for activations and states, the stack of kernels aside; and read-only data. */\n#define "
      << prefix << "PEAK_BYTES " << info.staticBytes << "\n#define " << prefix << "WEIGHTS_BYTES "
      << info.parameters.bytes << "\n\n";
  describePorts(out, names, prefix, "INPUT", info.inputs, /*extents=*/true);
  describePorts(out, names, prefix, "OUTPUT", info.outputs, /*extents=*/true);
  describeRequests(out, prefix, info);
  out << "#ifdef __cplusplus\nextern \"C\" {\n#endif\n"
      << "/* Call before the first run. It sets states to their initial values. */\nvoid " << init << "(void);\n"
      << "/* Runs a step. Returns 0, or the number of a failure. */\nint32_t " << run
      << "(const void *const *inputs, void *const *outputs);\n"
      << "/* What a result of " << run << " means. */\nconst char *" << message << "(int32_t status);\n"
      << "#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
  return writeFileAtomically(directory + "/" + kHeaderFile, out.str());
}

Status writeCHeader(const std::string &directory, const ManifestInfo &info, const HeaderFunctions &functions) {
  MacroNames names;
  std::string prefix = names.unique("SLUICE_", info.name) + "_";
  std::ostringstream out;
  out << "/* Inputs and outputs of model '" << inComment(info.name) << "', written by " << compilerVersion()
      << ".\n *\n"
      << " *   sluice_session *session = "
      << (!functions.open.empty()    ? functions.open + "(NULL)"
          : !functions.model.empty() ? "sluice_open_model(" + functions.model + "(), parameters, bytes, NULL)"
                                     : std::string("sluice_open(\"DIR\", NULL)"))
      << ";\n"
      << declareArrays(prefix)
      << " *   if (sluice_run(session, inputs, outputs)) puts(sluice_last_error());\n"
         " */\n"
      << "#ifndef " << prefix << "MODEL_H\n#define " << prefix << "MODEL_H\n\n#include <sluice/Runtime/sluice.h>\n\n";
  describePorts(out, names, prefix, "INPUT", info.inputs);
  describePorts(out, names, prefix, "OUTPUT", info.outputs);
  describeRequests(out, prefix, info);
  describeSymbols(out, names, prefix, info);
  declareFunctions(out, functions);
  out << "#endif\n";
  return writeFileAtomically(directory + "/" + kHeaderFile, out.str());
}

} // namespace sluice
