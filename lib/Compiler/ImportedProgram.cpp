//===- ImportedProgram.cpp - The program as the model had it --------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ImportedProgram.h"

#include "dialects/Dataflow/IR/Dataflow.h"
#include "dialects/Dataflow/IR/FirstError.h"
#include "dialects/Dataflow/IR/FunctionAttributes.h"
#include "sluice/Explain/Explain.h"
#include "sluice/Onnx/MappedPages.h"
#include "sluice/Simulator/Simulator.h"
#include "sluice/Support/Json.h"
#include "sluice/Support/Units.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>

using namespace mlir;

namespace sluice {

using namespace dataflow;

static Block &bodyOf(ModuleOp module) { return (*module.getOps<func::FuncOp>().begin()).getBody().front(); }

ImportedProgram::ImportedProgram(ModuleOp module) : copy(module.clone()) {
  for (Operation &op : bodyOf(*copy))
    operators.push_back(&op);
  for (auto [mark, op] : llvm::enumerate(bodyOf(module)))
    markOperator(&op, op.getLoc(), mark);
}

void markOperator(Operation *op, Location location, size_t mark) {
  Builder builder(op->getContext());
  op->setLoc(FusedLoc::get(op->getContext(), {location}, builder.getI64IntegerAttr(static_cast<int64_t>(mark))));
}

void collectMarks(Location location, std::set<size_t> &marks) {
  auto fused = dyn_cast<FusedLoc>(location);
  if (!fused)
    return;
  if (auto mark = dyn_cast_if_present<IntegerAttr>(fused.getMetadata()))
    marks.insert(static_cast<size_t>(mark.getInt()));
  for (Location part : fused.getLocations())
    collectMarks(part, marks);
}

namespace {
/// What one planned operator's commands do, for people.
struct Annotations {
  int64_t order = -1;        ///< Of the first launch.
  std::string time;          ///< Of the first launch.
  std::string computedAgain; ///< Orders of further launches.
  std::string swappedIn, swappedOut;
};

void append(std::string &list, const std::string &item) {
  if (!item.empty())
    list += (list.empty() ? "" : "; ") + item;
}

/// A plan's decisions as text. Times are simulated.
class Decisions {
public:
  Decisions(const Graph &graph, const Machine &machine, const CostTable &costs, const Plan &plan)
      : graph(graph), machine(machine), plan(plan), timeline(simulate(graph, machine, costs, plan)),
        operators(graph.numOperators()), places(graph.numTensors()) {
    describeCommands();
    describePlaces();
  }

  const Graph &graph;
  const Machine &machine;
  const Plan &plan;
  const Timeline timeline;
  std::vector<Annotations> operators;
  std::vector<std::string> places; ///< Per tensor: its homes, then its stays by their starts.

  /// The places of all results of an operator.
  std::string placesOf(const Operator &op) const {
    std::string list;
    for (TensorId output : op.outputs)
      append(list, places[output.index()]);
    return list;
  }

private:
  const std::string &memoryOf(ResidencyId id) const { return machine.memory(plan.residencies[id.index()].memory).name; }
  /// "accel0 [0, 64)".
  std::string place(ResidencyId id) const {
    const Residency &residency = plan.residencies[id.index()];
    if (residency.segment == Segment::Home)
      return concat("home in ", memoryOf(id));
    return concat(memoryOf(id), " [", residency.offset, ", ", residency.offset + residency.bytes, ")");
  }

  /// "w (1.00 KiB) from host to accel0 [0, 1024) from 0 ns to 46.40 us".
  std::string copyText(size_t copy) const {
    const Command &command = plan.commands[copy];
    const Tensor &tensor = graph.tensor(plan.residencies[command.reads[0].index()].tensor);
    return concat(tensor.name, " (", formatBytes(tensor.bytes), ") from ", memoryOf(command.reads[0]), " to ",
                  place(command.writes[0]), " ", describeSpan(timeline.commands[copy], timeline.makespanNs));
  }

  void describeCommands() {
    // The copy that made a residency, and the launch that did.
    std::vector<std::optional<size_t>> copied(plan.residencies.size());
    std::vector<const Command *> launched(plan.residencies.size());
    int64_t order = 0;
    for (auto [c, command] : llvm::enumerate(plan.commands)) {
      if (command.kind == CommandKind::Copy) {
        copied[command.writes[0].index()] = c;
        if (const Command *producer = launched[command.reads[0].index()])
          append(operators[producer->op.index()].swappedOut, copyText(c));
        continue;
      }
      Annotations &decisions = operators[command.op.index()];
      if (decisions.order < 0) {
        decisions.order = order++;
        decisions.time = describeSpan(timeline.commands[c], timeline.makespanNs);
      } else {
        append(decisions.computedAgain, std::to_string(order++));
      }
      for (ResidencyId read : command.reads)
        if (std::optional<size_t> copy = copied[read.index()])
          append(decisions.swappedIn, copyText(*copy));
      for (ResidencyId written : command.writes)
        launched[written.index()] = &command;
    }
  }

  void describePlaces() {
    const std::vector<Interval> times = residencyTimes(machine, plan, timeline);
    std::vector<std::vector<ResidencyId>> stays(graph.numTensors());
    for (size_t i = 0; i < plan.residencies.size(); ++i)
      if (TensorId tensor = plan.residencies[i].tensor; tensor.valid())
        stays[tensor.index()].push_back(ResidencyId(i));
    auto key = [&](ResidencyId id) {
      const bool isArena = plan.residencies[id.index()].segment == Segment::Arena;
      return std::pair(isArena, isArena ? times[id.index()].startNs : 0);
    };
    for (auto [tensor, ids] : llvm::enumerate(stays)) {
      std::stable_sort(ids.begin(), ids.end(), [&](ResidencyId x, ResidencyId y) { return key(x) < key(y); });
      for (ResidencyId id : ids)
        append(places[tensor], plan.residencies[id.index()].segment == Segment::Home
                                   ? place(id)
                                   : concat(place(id), " ", describeSpan(times[id.index()], timeline.makespanNs)));
    }
  }
};

/// Per mark behind the results of a planned operator, and per result of the marked operator: the operator's result.
/// Without those of which it is not known.
std::map<std::pair<size_t, unsigned>, size_t> resultsOf(Operation *planned) {
  std::map<std::pair<size_t, unsigned>, size_t> results;
  for (OpResult result : planned->getResults()) {
    OpResult made = result;
    while (made && isa<FusedOp, ConcurrentOp>(made.getOwner()))
      made =
          dyn_cast<OpResult>(made.getOwner()->getRegion(0).front().getTerminator()->getOperand(made.getResultNumber()));
    std::set<size_t> marks;
    if (made)
      collectMarks(made.getOwner()->getLoc(), marks);
    for (size_t mark : marks)
      results[{mark, made.getResultNumber()}] = result.getResultNumber();
  }
  return results;
}

/// Sets the decisions about planned operator `op` on a member of it. `isFirst`: no other planned operator has this
/// member; otherwise their decisions are joined.
void setDecisions(Operation *member, size_t mark, const std::map<std::pair<size_t, unsigned>, size_t> &results,
                  const Decisions &decisions, size_t op, bool isFirst) {
  Builder builder(member->getContext());
  auto set = [&](StringRef name, std::string value) {
    if (value.empty())
      return;
    if (auto before = member->getAttrOfType<StringAttr>(name); before && !isFirst && before != value)
      value = concat(before.str(), "; ", value);
    member->setAttr(name, builder.getStringAttr(value));
  };
  const Operator &entry = decisions.graph.operators()[op];
  const Annotations &annotations = decisions.operators[op];
  set(DataflowDialect::DeviceAttrHelper::getNameStr(), decisions.machine.device(decisions.plan.placement[op]).name);
  set(DataflowDialect::KernelAttrHelper::getNameStr(), entry.name);
  if (isFirst)
    DataflowDialect::OrderAttrHelper(member->getContext())
        .setAttr(member, builder.getI64IntegerAttr(annotations.order));
  set(DataflowDialect::ComputedAgainAttrHelper::getNameStr(), annotations.computedAgain);
  set(DataflowDialect::SwappedInAttrHelper::getNameStr(), annotations.swappedIn);
  set(DataflowDialect::SwappedOutAttrHelper::getNameStr(), annotations.swappedOut);
  set(DataflowDialect::TimeAttrHelper::getNameStr(), annotations.time);

  // Per result of the member, where it is a result of the kernel too.
  const StringRef memory = DataflowDialect::MemoryAttrHelper::getNameStr();
  std::vector<std::string> places(member->getNumResults());
  if (auto before = isFirst ? ArrayAttr() : member->getAttrOfType<ArrayAttr>(memory))
    for (auto [place, known] : llvm::zip_equal(places, before))
      place = cast<StringAttr>(known).str();
  for (auto [k, place] : llvm::enumerate(places))
    if (auto result = results.find({mark, k}); result != results.end() && result->second < entry.outputs.size())
      append(place, decisions.places[entry.outputs[result->second].index()]);
  const SmallVector<StringRef> texts(places.begin(), places.end());
  member->setAttr(memory, builder.getStrArrayAttr(texts));
}
} // namespace

/// Where inputs and weights are, and what holds for the whole step.
static void decideInputs(ModuleOp module, const Decisions &decisions) {
  const StringRef memory = DataflowDialect::MemoryAttrHelper::getNameStr();
  Builder builder(module.getContext());
  llvm::StringMap<std::string> inputs, weights;
  for (auto [tensor, places] : llvm::zip_equal(decisions.graph.tensors(), decisions.places))
    if (!tensor.producer.valid())
      (tensor.kind == TensorKind::Input ? inputs : weights)[tensor.name] = places;
  func::FuncOp function = *module.getOps<func::FuncOp>().begin();
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto name = inputName(function, i))
      if (auto places = inputs.find(name.getValue()); places != inputs.end() && !places->second.empty())
        function.setArgAttr(i, memory, builder.getStringAttr(places->second));
  for (auto constant : function.getOps<ConstantOp>())
    if (auto places = weights.find(nodeName(constant.getLoc())); places != weights.end() && !places->second.empty())
      constant->setAttr(memory, builder.getStrArrayAttr({places->second}));

  std::string used;
  for (auto [m, bytes] : llvm::enumerate(decisions.plan.arenaBytes))
    if (bytes > 0)
      append(used, concat(decisions.machine.memories[m].name, " ", formatBytes(bytes)));
  std::set<std::string> devices;
  for (DeviceId device : decisions.plan.placement)
    devices.insert(decisions.machine.device(device).name);
  module->setAttr(memory, builder.getStringAttr(used));
  module->setAttr(DataflowDialect::DeviceAttrHelper::getNameStr(), builder.getStringAttr(llvm::join(devices, "; ")));
  module->setAttr(DataflowDialect::TimeAttrHelper::getNameStr(),
                  builder.getStringAttr(concat(formatDuration(decisions.timeline.makespanNs), " a step, simulated")));
}

void ImportedProgram::decide(ArrayRef<Operation *> planned, const Graph &graph, const Machine &machine,
                             const CostTable &costs, const Plan &plan) {
  const Decisions decisions(graph, machine, costs, plan);
  std::set<size_t> decided;
  for (auto [i, op] : llvm::enumerate(planned)) {
    std::set<size_t> marks;
    collectMarks(op->getLoc(), marks);
    const auto results = resultsOf(op);
    for (size_t mark : marks) {
      Operation *member = operators[mark];
      if (isa<ConstantOp>(member) || member->hasTrait<OpTrait::IsTerminator>())
        continue;
      // One operator may be several now.
      const bool isFirst = decided.insert(mark).second;
      setDecisions(member, mark, results, decisions, i, isFirst);
    }
  }
  decideInputs(*copy, decisions);
}
/// Resources' data left out.
static Expected<std::string> toBytecode(ModuleOp module) {
  std::string bytes;
  llvm::raw_string_ostream out(bytes);
  BytecodeWriterConfig config("sluice");
  config.setElideResourceDataFlag();
  if (failed(writeBytecodeToFile(module, out, config)))
    return makeError(ErrorCode::Internal,
                     "a program cannot be written as bytecode, this is a bug of Sluice, please report it");
  return bytes;
}

Expected<DigestSource> digestSource(ModuleOp module) {
  OwningOpRef<ModuleOp> bare = module.clone();
  // Names of resources are made unique in a process; constants go by their order.
  std::vector<ElementsAttr> weights;
  for (auto function : bare->getOps<func::FuncOp>())
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      function.removeArgAttr(i, DataflowDialect::MemoryAttrHelper::getNameStr());
  bare->walk([&](Operation *op) {
    for (StringRef name :
         {DataflowDialect::DeviceAttrHelper::getNameStr(), DataflowDialect::KernelAttrHelper::getNameStr(),
          DataflowDialect::OrderAttrHelper::getNameStr(), DataflowDialect::ComputedAgainAttrHelper::getNameStr(),
          DataflowDialect::MemoryAttrHelper::getNameStr(), DataflowDialect::SwappedInAttrHelper::getNameStr(),
          DataflowDialect::SwappedOutAttrHelper::getNameStr(), DataflowDialect::TimeAttrHelper::getNameStr()})
      op->removeDiscardableAttr(name);
    auto constant = dyn_cast<ConstantOp>(op);
    if (constant && isa<DenseResourceElementsAttr>(constant.getValue())) {
      weights.push_back(constant.getValue());
      Builder builder(op->getContext());
      auto type = cast<RankedTensorType>(constant.getType());
      constant.setValueAttr(DenseElementsAttr::get(type, builder.getZeroAttr(type.getElementType())));
    }
  });
  DigestSource source;
  SLUICE_ASSIGN_OR_RETURN(source.program, toBytecode(*bare));
  for (ElementsAttr weight : weights) {
    TensorView view;
    bool isSplat;
    if (!getConstantBytes(weight, view, isSplat))
      return makeError(ErrorCode::InvalidInput, "the data of a weight is missing, supply the model's external data");
    source.weights.push_back(
        std::as_bytes(std::span<const char>(view.data, static_cast<size_t>(tensorBytes(weight.getType())))));
  }
  return source;
}

std::string digestOf(const DigestSource &source) {
  constexpr size_t kPiece = 8 << 20;
  llvm::BLAKE3 hash;
  hash.update(source.program);
  for (std::span<const std::byte> rest : source.weights)
    while (!rest.empty()) {
      const auto piece = rest.first(std::min(kPiece, rest.size()));
      rest = rest.subspan(piece.size());
      prefetchPages(rest.first(std::min(kPiece, rest.size())));
      hash.update(StringRef(reinterpret_cast<const char *>(piece.data()), piece.size()));
      releasePages(piece);
    }
  return llvm::toHex(hash.final<16>(), /*LowerCase=*/true);
}

Expected<std::string> digestProgram(ModuleOp module) {
  SLUICE_ASSIGN_OR_RETURN(DigestSource source, digestSource(module));
  return digestOf(source);
}

Status ImportedProgram::write(const std::string &directory, const std::string &modelPath, const std::string &digest) {
  // Relative, so that equal layouts give equal files, and both may move together.
  std::error_code error;
  std::filesystem::path model = std::filesystem::absolute(modelPath, error),
                        base = std::filesystem::absolute(directory, error);
  std::string source = model.lexically_normal().lexically_relative(base.lexically_normal()).string();
  Builder builder(copy->getContext());
  DataflowDialect::SourceAttrHelper(copy->getContext()).setAttr(*copy, builder.getStringAttr(source));
  DataflowDialect::DigestAttrHelper(copy->getContext()).setAttr(*copy, builder.getStringAttr(digest));
  SLUICE_ASSIGN_OR_RETURN(std::string bytes, toBytecode(*copy));
  return writeFileAtomically(directory + "/" + kProgramFileName, bytes);
}

Expected<ProgramFile> readProgramFile(MLIRContext &context, const std::string &directory) {
  std::string path = directory + "/" + kProgramFileName;
  auto damaged = [&](const std::string &why) {
    return makeError(ErrorCode::InvalidInput, "'", path, "' is not the program of a compiled model, ", why,
                     ", give a directory that sluice compile wrote");
  };
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    return makeError(ErrorCode::NotFound, "directory '", directory, "' has no '", kProgramFileName,
                     "', give an ONNX file or a directory that sluice compile wrote");
  // A pipe would hang the open.
  if (!std::filesystem::is_regular_file(path, ignored))
    return damaged("it is not a regular file");
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> buffer = openInputFile(path, &message);
  if (!buffer)
    return damaged(message);
  if (!isBytecode(buffer->getMemBufferRef()))
    return damaged("it is not MLIR bytecode");
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  const FirstError said(&context);
  ProgramFile file;
  file.module = parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
  if (!file.module)
    return damaged(said.messageOr("the file cannot be read"));
  auto functions = llvm::to_vector(file.module->getOps<func::FuncOp>());
  StringAttr source = DataflowDialect::SourceAttrHelper(file.module->getContext()).getAttr(*file.module);
  StringAttr digest = DataflowDialect::DigestAttrHelper(file.module->getContext()).getAttr(*file.module);
  if (functions.size() != 1 || functions[0].isExternal() || !source || !digest)
    return damaged("the name or the digest of the model is missing");
  file.model = (std::filesystem::path(directory) / source.str()).lexically_normal().string();
  file.digest = digest.str();
  (*file.module)->removeAttr(DataflowDialect::SourceAttrHelper::getNameStr());
  (*file.module)->removeAttr(DataflowDialect::DigestAttrHelper::getNameStr());
  return file;
}

} // namespace sluice
