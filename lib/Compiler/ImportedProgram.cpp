//===- ImportedProgram.cpp - The program as the model had it --------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ImportedProgram.h"

#include "dialects/Dataflow/IR/Dataflow.h"
#include "dialects/Dataflow/IR/FirstError.h"
#include "sluice/Simulator/Simulator.h"
#include "sluice/Support/Json.h"
#include "sluice/Support/Units.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"

#include <filesystem>
#include <set>

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
  int64_t order = -1; ///< Of the first launch.
  std::string memory, swappedIn, swappedOut;
  std::string time;          ///< Of the first launch.
  std::string computedAgain; ///< Orders of further launches.
};

void append(std::string &list, const std::string &item) { list += (list.empty() ? "" : "; ") + item; }

/// "from 1.20 us to 3.40 us".
std::string fromTo(const Interval &interval) {
  return concat("from ", formatDuration(interval.startNs), " to ", formatDuration(interval.endNs));
}

std::vector<Annotations> describe(const Graph &graph, const Machine &machine, const CostTable &costs,
                                  const Plan &plan) {
  std::vector<Annotations> result(graph.numOperators());
  const Timeline timeline = simulate(graph, machine, costs, plan);
  const std::vector<Interval> times = residencyTimes(machine, plan, timeline);
  // The copy that made a residency, and the launch that did.
  std::vector<const Command *> copied(plan.residencies.size()), launched(plan.residencies.size());
  auto what = [&](const Residency &residency) {
    const Tensor &tensor = graph.tensor(residency.tensor);
    return concat(tensor.name, " (", formatBytes(tensor.bytes), ")");
  };
  auto memoryOf = [&](ResidencyId id) { return machine.memory(plan.residencies[id.index()].memory).name; };
  int64_t order = 0;
  for (auto [c, command] : llvm::enumerate(plan.commands)) {
    if (command.kind == CommandKind::Copy) {
      copied[command.writes[0].index()] = &command;
      if (const Command *producer = launched[command.reads[0].index()])
        append(result[producer->op.index()].swappedOut,
               concat(what(plan.residencies[command.reads[0].index()]), " to ", memoryOf(command.writes[0])));
      continue;
    }
    Annotations &decisions = result[command.op.index()];
    if (decisions.order < 0) {
      decisions.order = order++;
      decisions.time = fromTo(timeline.commands[c]);
    } else {
      append(decisions.computedAgain, std::to_string(order++));
    }
    for (ResidencyId read : command.reads)
      if (const Command *copy = copied[read.index()])
        append(decisions.swappedIn, concat(what(plan.residencies[read.index()]), " from ", memoryOf(copy->reads[0])));
    for (ResidencyId written : command.writes) {
      launched[written.index()] = &command;
      const Residency &residency = plan.residencies[written.index()];
      if (residency.tensor.valid() && residency.segment == Segment::Arena)
        append(decisions.memory, concat(memoryOf(written), " [", residency.offset, ", ",
                                        residency.offset + residency.bytes, ") ", fromTo(times[written.index()])));
    }
  }
  return result;
}
} // namespace

void ImportedProgram::decide(ArrayRef<Operation *> planned, const Graph &graph, const Machine &machine,
                             const CostTable &costs, const Plan &plan) {
  std::vector<Annotations> decisions = describe(graph, machine, costs, plan);
  Builder builder(copy->getContext());
  std::set<size_t> decided;
  for (auto [i, op] : llvm::enumerate(planned)) {
    std::set<size_t> marks;
    collectMarks(op->getLoc(), marks);
    for (size_t mark : marks) {
      Operation *member = operators[mark];
      if (isa<ConstantOp>(member) || member->hasTrait<OpTrait::IsTerminator>())
        continue;
      // One operator may be several now.
      const bool isFirst = decided.insert(mark).second;
      auto set = [&](StringRef name, std::string value) {
        if (auto before = member->getAttrOfType<StringAttr>(name); before && !isFirst && before != value)
          value = concat(before.str(), "; ", value);
        if (!value.empty())
          member->setAttr(name, builder.getStringAttr(value));
      };
      set(DataflowDialect::DeviceAttrHelper::getNameStr(), machine.device(plan.placement[i]).name);
      set(DataflowDialect::KernelAttrHelper::getNameStr(), graph.operators()[i].name);
      if (isFirst)
        DataflowDialect::OrderAttrHelper(member->getContext())
            .setAttr(member, builder.getI64IntegerAttr(decisions[i].order));
      set(DataflowDialect::ComputedAgainAttrHelper::getNameStr(), decisions[i].computedAgain);
      set(DataflowDialect::MemoryAttrHelper::getNameStr(), decisions[i].memory);
      set(DataflowDialect::SwappedInAttrHelper::getNameStr(), decisions[i].swappedIn);
      set(DataflowDialect::SwappedOutAttrHelper::getNameStr(), decisions[i].swappedOut);
      set(DataflowDialect::TimeAttrHelper::getNameStr(), decisions[i].time);
    }
  }
}

/// Resources' data left out.
static Expected<std::string> toBytecode(ModuleOp module) {
  std::string bytes;
  llvm::raw_string_ostream out(bytes);
  BytecodeWriterConfig config("sluice");
  config.setElideResourceDataFlag();
  if (failed(writeBytecodeToFile(module, out, config)))
    return makeError(ErrorCode::Internal, "a program cannot be written as bytecode");
  return bytes;
}

Expected<std::string> digestProgram(ModuleOp module) {
  OwningOpRef<ModuleOp> bare = module.clone();
  // Names of resources are made unique in a process; constants go by their order.
  std::vector<ElementsAttr> weights;
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
  Expected<std::string> program = toBytecode(*bare);
  if (!program)
    return program;
  llvm::BLAKE3 hash;
  hash.update(*program);
  for (ElementsAttr weight : weights) {
    TensorView view;
    bool isSplat;
    if (!getConstantBytes(weight, view, isSplat))
      return makeError(ErrorCode::InvalidInput, "the data of a weight is missing, supply the model's external data");
    hash.update(StringRef(view.data, static_cast<size_t>(tensorBytes(weight.getType()))));
  }
  return llvm::toHex(hash.final<16>(), /*LowerCase=*/true);
}

Status ImportedProgram::write(const std::string &directory, const std::string &modelPath) {
  SLUICE_ASSIGN_OR_RETURN(std::string digest, digestProgram(*copy));
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
    return makeError(ErrorCode::NotFound, "'", directory, "' has no '", kProgramFileName,
                     "', give an ONNX file or a directory that sluice compile wrote");
  const FirstError said(&context);
  ProgramFile file;
  file.module = parseSourceFile<ModuleOp>(path, ParserConfig(&context));
  if (!file.module)
    return damaged(said.messageOr("it cannot be read"));
  auto functions = llvm::to_vector(file.module->getOps<func::FuncOp>());
  StringAttr source = DataflowDialect::SourceAttrHelper(file.module->getContext()).getAttr(*file.module);
  StringAttr digest = DataflowDialect::DigestAttrHelper(file.module->getContext()).getAttr(*file.module);
  if (functions.size() != 1 || functions[0].isExternal() || !source || !digest)
    return damaged("it says not what it was made from");
  file.model = (std::filesystem::path(directory) / source.str()).lexically_normal().string();
  file.digest = digest.str();
  (*file.module)->removeAttr(DataflowDialect::SourceAttrHelper::getNameStr());
  (*file.module)->removeAttr(DataflowDialect::DigestAttrHelper::getNameStr());
  return file;
}

} // namespace sluice
