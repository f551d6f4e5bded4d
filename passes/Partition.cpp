//===- Partition.cpp - From a tiling to the program of each rank ----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"

#include "dialects/Dataflow/IR/FunctionAttributes.h"
#include "dialects/Dataflow/IR/Shapes.h"
#include "dialects/Dataflow/Tiling/Tiling.h"
#include "passes/Bridge/TilingAttributes.h"
#include "sluice/Support/Units.h"
#include "sluice/Tiling/Conversion.h"

#include "mlir/IR/IRMapping.h"

#include <map>

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

namespace sluice {
#define GEN_PASS_DEF_PARTITIONPASS
#include "passes/Passes.h.inc"
} // namespace sluice

namespace {

using Tilings = std::vector<AxisTiling>;
using Axes = std::vector<uint32_t>;

/// A tensor in which each dimension that a collective cuts or joins in blocks is two: the blocks, and the elements of
/// each. A strided part is contiguous there, and the reshapes move no data.
class BlockView {
public:
  explicit BlockView(const CollectiveStep &step) {
    if (step.blocks > 1)
      strided.emplace_back(step.dim, step.blocks);
    if (step.splitBlocks > 1)
      strided.emplace_back(step.splitDim, step.splitBlocks);
    llvm::sort(strided);
  }

  int64_t dimOf(uint32_t dim) const {
    return dim + llvm::count_if(strided, [&](auto each) { return each.first <= dim; });
  }
  Value open(Value value, TensorBuilder &build) const {
    SmallVector<int64_t> shape(shapeOf(value));
    for (auto [dim, blocks] : llvm::reverse(strided)) {
      shape[dim] /= blocks;
      shape.insert(shape.begin() + dim, blocks);
    }
    return strided.empty() ? value : build.reshape(value, shape);
  }
  Value close(Value value, TensorBuilder &build) const {
    if (!value || strided.empty())
      return value;
    SmallVector<int64_t> shape(shapeOf(value));
    for (auto [dim, blocks] : strided) {
      shape[dim + 1] *= blocks;
      shape.erase(shape.begin() + dim);
    }
    return build.reshape(value, shape);
  }

private:
  SmallVector<std::pair<uint32_t, uint32_t>> strided; ///< Dimensions and their blocks, ascending.
};

/// Writes one function's operators again, on parts, at the end of a new block.
class Partitioner {
public:
  Partitioner(func::FuncOp function, const BridgedProgram &bridged, const MeshTiling &decided)
      : function(function), bridged(bridged), mesh(decided.mesh), tiling(decided.tiling),
        builder(function.getContext()) {
    int64_t stride = mesh.numDevices();
    for (const MeshAxis &axis : mesh.axes)
      strides.push_back(stride /= axis.size);
    for (size_t i = 0; i < bridged.values.size(); ++i)
      tensors[bridged.values[i]] = TensorId(i);
    for (size_t i = 0; i < bridged.operators.size(); ++i)
      operators[bridged.operators[i]] = OperatorId(i);
  }

  LogicalResult run();

private:
  /// A tensor as this rank has it.
  struct Form {
    Tilings tilings;
    Value value;
  };
  struct Widened {
    uint32_t dim;
    Halo halo;
    Value value;
  };
  struct Neutral {
    uint32_t dim;
    PartialKind reduction;
    Value value;
  };

  LogicalResult rewrite(Operation &op);
  LogicalResult partition(Operation &op, OperatorId id);
  void holdState(StateOp op);
  /// The forms of a tensor, the one it is held in at least.
  std::vector<Form> &formsOf(Value original);
  Value convert(Value original, const Tilings &wanted, TensorBuilder &build);
  Value apply(const CollectiveStep &step, Value original, const Form &form, TensorBuilder &build);
  Value collective(const CollectiveStep &step, Value original, const Form &form, const BlockView &view,
                   TensorBuilder &build);
  std::vector<CollectiveStep> stepsFrom(Value original, const Form &from, const Tilings &wanted) const;
  /// A part with a halo; around another one's where there are two, corners included.
  Value widen(Value value, uint32_t dim, Halo halo, const Axes &axes, UnevenAttr uneven, TensorBuilder &build);
  /// A part of `extent` with the neutral element in the place of the copies that complete it.
  Value completeByNeutral(Value value, uint32_t dim, PartialKind reduction, const Axes &axes, int64_t extent,
                          TensorBuilder &build);
  /// Which part along some axes this rank has: one number.
  Value numberAlong(const Axes &axes, TensorBuilder &build);
  GroupAttr groupOf(const Axes &axes) const;
  int64_t sizeOf(const Axes &axes) const;
  /// How `axes` divide a dimension inside of the other axes that split it; null if into equal parts and not `always`.
  UnevenAttr unevenOf(Value original, uint32_t dim, const Tilings &tilings, const Axes &axes,
                      bool always = false) const;
  /// An axis of one device splits nothing.
  Tilings meant(Tilings tilings) const {
    for (size_t a = 0; a < tilings.size(); ++a)
      if (mesh.axes[a].size == 1)
        tilings[a] = {};
    return tilings;
  }
  Tilings heldAs(Value original) const {
    auto found = tensors.find(original);
    return found == tensors.end() ? Tilings(mesh.axes.size()) : meant(tiling.tensors[found->second.index()]);
  }

  func::FuncOp function;
  const BridgedProgram &bridged;
  const Mesh &mesh;
  const Tiling &tiling;
  OpBuilder builder;
  SmallVector<int64_t> strides; ///< Per axis: ranks from one position to the next.
  llvm::DenseMap<Value, TensorId> tensors;
  llvm::DenseMap<Operation *, OperatorId> operators;
  IRMapping whole; ///< Of what is not partitioned.
  llvm::DenseMap<Value, std::vector<Form>> forms;
  llvm::DenseMap<Value, std::vector<Widened>> widened;
  llvm::DenseMap<Value, std::vector<Neutral>> neutral;
  std::map<Axes, Value> numbers;
};

GroupAttr Partitioner::groupOf(const Axes &axes) const {
  SmallVector<int64_t> counts, steps;
  for (uint32_t axis : axes) {
    // Neighbouring axes are one, that groups of many axes stay short.
    if (!steps.empty() && steps.back() == strides[axis] * mesh.axes[axis].size) {
      counts.back() *= mesh.axes[axis].size;
      steps.back() = strides[axis];
      continue;
    }
    counts.push_back(mesh.axes[axis].size);
    steps.push_back(strides[axis]);
  }
  return GroupAttr::get(builder.getContext(), counts, steps);
}

int64_t Partitioner::sizeOf(const Axes &axes) const {
  int64_t size = 1;
  for (uint32_t axis : axes)
    size *= mesh.axes[axis].size;
  return size;
}

UnevenAttr Partitioner::unevenOf(Value original, uint32_t dim, const Tilings &tilings, const Axes &axes,
                                 bool always) const {
  Axes outside;
  for (uint32_t axis = 0; axis < tilings.size(); ++axis)
    if (mesh.axes[axis].size > 1 && tilings[axis].splits(dim) && !llvm::is_contained(axes, axis))
      outside.push_back(axis);
  const int64_t extent = shapeOf(original)[dim], outer = sizeOf(outside);
  if (extent % (outer * sizeOf(axes)) == 0 && !always)
    return {};
  if (extent % outer == 0)
    return UnevenAttr::get(builder.getContext(), extent / outer, {});
  return UnevenAttr::get(builder.getContext(), extent, groupOf(outside));
}

Value Partitioner::numberAlong(const Axes &axes, TensorBuilder &build) {
  Value &number = numbers[axes];
  if (!number) {
    GroupAttr group = groupOf(axes);
    Value all = build.iota(builder.getI64Type(), group.size(), 0, 1);
    Value own = build.create<ShardOp>({all}, {build.integer("dim", 0), build.attribute("group", group)});
    number = build.reshape(own, {});
  }
  return number;
}

std::vector<Partitioner::Form> &Partitioner::formsOf(Value original) {
  std::vector<Form> &list = forms[original];
  if (list.empty()) {
    // A constant, or what follows from constants: cut for each rank when parameters are written.
    list.push_back({Tilings(mesh.axes.size()), whole.lookup(original)});
    TensorBuilder build(builder, original.getLoc());
    if (Value held = convert(original, heldAs(original), build))
      list = {{heldAs(original), held}};
  }
  return list;
}

std::vector<CollectiveStep> Partitioner::stepsFrom(Value original, const Form &from, const Tilings &wanted) const {
  const ArrayRef<int64_t> shape = shapeOf(original);
  return planConversion({shape.begin(), shape.end()}, elementBytes(typeOf(original).getElementType()), from.tilings,
                        wanted, mesh);
}

/// What a step leaves.
static Tilings after(Tilings tilings, const CollectiveStep &step) {
  const bool splits = step.kind == sluice::CollectiveKind::Slice || step.kind == sluice::CollectiveKind::ReduceScatter;
  for (uint32_t axis : step.axes)
    tilings[axis] = splits                                          ? AxisTiling::split(step.dim, step.blocks)
                    : step.kind == sluice::CollectiveKind::AllToAll ? AxisTiling::split(step.splitDim, step.splitBlocks)
                                                                    : AxisTiling::replicated();
  return tilings;
}

Value Partitioner::apply(const CollectiveStep &step, Value original, const Form &form, TensorBuilder &build) {
  const BlockView view(step);
  return view.close(collective(step, original, form, view, build), build);
}

Value Partitioner::collective(const CollectiveStep &step, Value original, const Form &form, const BlockView &view,
                              TensorBuilder &build) {
  using Kind = sluice::CollectiveKind;
  const Value value = view.open(form.value, build);
  const NamedAttribute group = build.attribute("group", groupOf(step.axes));
  SmallVector<NamedAttribute> attributes{group, build.integer("dim", view.dimOf(step.dim))};
  auto addUneven = [&](StringRef name, UnevenAttr uneven) {
    if (uneven)
      attributes.push_back(build.attribute(name, uneven));
  };
  if (step.kind == Kind::AllGather || step.kind == Kind::Slice || step.kind == Kind::ReduceScatter)
    addUneven("uneven", unevenOf(original, step.dim, form.tilings, step.axes));
  switch (step.kind) {
  case Kind::AllGather:
    return build.create<AllGatherOp>({value}, attributes);
  case Kind::AllToAll: {
    attributes = {build.integer("split", view.dimOf(step.splitDim)), build.integer("join", view.dimOf(step.dim)),
                  group};
    const bool isUneven = unevenOf(original, step.splitDim, form.tilings, step.axes) ||
                          unevenOf(original, step.dim, form.tilings, step.axes);
    if (isUneven) {
      addUneven("uneven_split", unevenOf(original, step.splitDim, form.tilings, step.axes, /*always=*/true));
      addUneven("uneven_join", unevenOf(original, step.dim, form.tilings, step.axes, /*always=*/true));
    }
    return build.create<AllToAllOp>({value}, attributes);
  }
  case Kind::Slice:
    return build.create<ShardOp>({value}, attributes);
  case Kind::AllReduce:
  case Kind::ReduceScatter:
    break;
  case Kind::Halo: // No conversion has one.
    return {};
  }
  // PartialKind and CombineKind are numbered alike.
  const NamedAttribute how =
      build.attribute("reduction", CombineKindAttr::get(build.context(), static_cast<CombineKind>(step.reduction)));
  const Type element = typeOf(value).getElementType();
  Value wide = build.cast(value, combinedType(element));
  attributes.push_back(how);
  Value combined = step.kind == Kind::AllReduce ? build.create<AllReduceOp>({wide}, {how, group})
                                                : build.create<ReduceScatterOp>({wide}, attributes);
  return build.cast(combined, element);
}

Value Partitioner::convert(Value original, const Tilings &wanted, TensorBuilder &build) {
  // A copy: what is applied adds to the list.
  const std::vector<Form> known = formsOf(original);
  const Form *best = nullptr;
  std::vector<CollectiveStep> steps;
  int64_t least = 0;
  for (const Form &form : known) {
    if (form.tilings == wanted)
      return form.value;
    std::vector<CollectiveStep> way = stepsFrom(original, form, wanted);
    int64_t bytes = 0;
    for (const CollectiveStep &step : way)
      bytes = saturatingAdd(bytes, step.bytes);
    if (!best || bytes < least)
      best = &form, least = bytes, steps = std::move(way);
  }
  Form form = *best;
  for (const CollectiveStep &step : steps) {
    form = {after(form.tilings, step), apply(step, original, form, build)};
    if (!form.value)
      return {};
    forms[original].push_back(form);
  }
  return form.value;
}

Value Partitioner::widen(Value value, uint32_t dim, Halo halo, const Axes &axes, UnevenAttr uneven,
                         TensorBuilder &build) {
  for (const Widened &known : widened[value])
    if (known.dim == dim && known.halo == halo)
      return known.value;
  SmallVector<NamedAttribute> attributes{build.integer("dim", dim), build.integer("low", halo.low),
                                         build.integer("high", halo.high), build.attribute("group", groupOf(axes))};
  if (halo.fill == Halo::Fill::Lowest)
    attributes.push_back(build.attribute("lowest", builder.getUnitAttr()));
  if (uneven)
    attributes.push_back(build.attribute("uneven", uneven));
  Value result = build.create<HaloOp>({value}, attributes);
  widened[value].push_back({dim, halo, result});
  return result;
}

Value Partitioner::completeByNeutral(Value value, uint32_t dim, PartialKind reduction, const Axes &axes, int64_t extent,
                                     TensorBuilder &build) {
  for (const Neutral &known : neutral[value])
    if (known.dim == dim && known.reduction == reduction)
      return known.value;
  const int64_t parts = sizeOf(axes), room = largestPart(extent, parts);
  SmallVector<int64_t> extents;
  for (int64_t part = 0; part < parts; ++part)
    extents.push_back(partBegin(extent, parts, part + 1) - partBegin(extent, parts, part));
  const Value own =
      build.create<GatherOp>({build.integers(extents), numberAlong(axes, build)}, build.integer("axis", 0));
  const Value at = build.iota(builder.getI64Type(), room, dim, typeOf(value).getRank());
  const double lowest = -std::numeric_limits<double>::infinity();
  const Value element = build.splat(typeOf(value).getElementType(), reduction == PartialKind::Sum   ? 0
                                                                    : reduction == PartialKind::Max ? lowest
                                                                                                    : -lowest);
  Value result = build.select(build.compare(ComparePredicate::lt, at, own), value, element);
  neutral[value].push_back({dim, reduction, result});
  return result;
}

/// How partial results of a rule are reduced, where it has some.
static std::optional<PartialKind> reductionOf(const TilingRule &rule) {
  for (const AxisTiling &result : rule.results)
    if (result.isPartial())
      return result.reduction;
  return std::nullopt;
}

LogicalResult Partitioner::partition(Operation &op, OperatorId id) {
  TensorBuilder build(builder, op.getLoc());
  auto failed = [&] {
    return op.emitError("cannot be split over devices: ")
           << (build.message().empty() ? "an operand cannot be converted" : build.message());
  };
  const std::vector<TilingRule> &rules = bridged.program.operators[id.index()].rules;
  // Axes that use one rule count as one, the outer one first.
  std::map<uint32_t, Axes> axesOf;
  for (uint32_t a = 0; a < mesh.axes.size(); ++a)
    if (uint32_t rule = tiling.rules[id.index()][a]; rule != 0 && mesh.axes[a].size > 1)
      axesOf[rule].push_back(a);
  SmallVector<PartRule> used;
  for (const auto &[rule, axes] : axesOf)
    used.push_back({&rules[rule], groupOf(axes).size(), numberAlong(axes, build)});
  SmallVector<Value> operands;
  for (auto [i, operand] : llvm::enumerate(op.getOperands())) {
    const Tilings wanted = meant(tiling.operandTilings(bridged.program, id, i));
    Value value = convert(operand, wanted, build);
    for (const auto &[rule, axes] : axesOf)
      if (const AxisTiling split = rules[rule].operands[i]; value && split.isSplit() && rules[rule].halo(i).empty() &&
                                                            reductionOf(rules[rule]) &&
                                                            unevenOf(operand, split.dim, wanted, axes))
        value =
            completeByNeutral(value, split.dim, *reductionOf(rules[rule]), axes, shapeOf(operand)[split.dim], build);
    for (const auto &[rule, axes] : axesOf)
      if (const Halo halo = rules[rule].halo(i); value && !halo.empty()) {
        const uint32_t dim = rules[rule].operands[i].dim;
        value = widen(value, dim, halo, axes, unevenOf(operand, dim, wanted, axes), build);
      }
    if (!value)
      return failed();
    operands.push_back(value);
  }
  SmallVector<Value> results = buildPart(&op, build, used, operands);
  if (results.size() != op.getNumResults())
    return failed();
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    forms[result].push_back({meant(tiling.resultTilings(bridged.program, id, i)), results[i]});
    if (!convert(result, heldAs(result), build))
      return failed();
  }
  return success();
}

void Partitioner::holdState(StateOp op) {
  const Tilings held = heldAs(op.getResult());
  SmallVector<Attribute> cuts;
  auto type = cast<RankedTensorType>(op.getType());
  for (uint32_t a = 0; a < held.size(); ++a)
    if (held[a].isSplit()) {
      cuts.push_back(CutAttr::get(op.getContext(), held[a].dim, groupOf({a}), held[a].blocks));
      type = *dataflow::partType(type, held[a].dim, mesh.axes[a].size);
    }
  auto own = StateOp::create(builder, op.getLoc(), type, op.getNameAttr(), op.getValue(), op.getTrainableAttr());
  if (!cuts.empty())
    own.setCutsAttr(builder.getArrayAttr(cuts));
  forms[op.getResult()].push_back({held, own});
}

LogicalResult Partitioner::rewrite(Operation &op) {
  if (auto found = operators.find(&op); found != operators.end())
    return partition(op, found->second);
  if (auto state = dyn_cast<StateOp>(op)) {
    holdState(state);
    return success();
  }
  builder.clone(op, whole);
  return success();
}

LogicalResult Partitioner::run() {
  Region &body = function.getBody();
  Block &old = body.front();
  auto *fresh = new Block;
  body.push_back(fresh);
  builder.setInsertionPointToEnd(fresh);
  const Tilings replicated(mesh.axes.size());
  for (BlockArgument argument : old.getArguments())
    forms[argument].push_back({replicated, fresh->addArgument(argument.getType(), argument.getLoc())});
  for (Operation &op : old.without_terminator())
    if (failed(rewrite(op)))
      return failure();
  llvm::StringMap<Value> states;
  for (StateOp state : old.getOps<StateOp>())
    states[state.getName()] = state.getResult();
  SmallVector<Value> results;
  for (auto [i, value] : llvm::enumerate(old.getTerminator()->getOperands())) {
    TensorBuilder build(builder, value.getLoc());
    auto updates = updatedState(function, i);
    results.push_back(convert(value, updates ? heldAs(states.lookup(updates.getValue())) : replicated, build));
    if (!results.back())
      return function.emitError("result ") << i << " cannot be joined: " << build.message();
  }
  func::ReturnOp::create(builder, old.getTerminator()->getLoc(), results);
  old.erase();
  function.setType(builder.getFunctionType(function.getArgumentTypes(), ValueRange(results).getTypes()));
  return success();
}

struct Partition : sluice::impl::PartitionPassBase<Partition> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || !function->hasAttr(DataflowDialect::MeshAttrHelper::getNameStr()))
      return;
    std::optional<BridgedProgram> bridged = orEmit(function, buildTensorProgram(function));
    std::optional<MeshTiling> decided;
    if (bridged)
      decided = orEmit(function, readTiling(function, *bridged));
    if (!decided || failed(Partitioner(function, *bridged, *decided).run()))
      return signalPassFailure();
    // What was decided is what is there now.
    function.walk([](Operation *op) {
      for (StringRef name :
           {DataflowDialect::MeshAttrHelper::getNameStr(), DataflowDialect::TilingAttrHelper::getNameStr(),
            DataflowDialect::RulesAttrHelper::getNameStr()})
        op->removeDiscardableAttr(name);
    });
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      function.removeArgAttr(i, DataflowDialect::TilingAttrHelper::getNameStr());
    // A stage of a pipeline is split over its own ranks, and has a number of ranks already.
    DataflowDialect::RanksAttrHelper ranks(function->getContext());
    if (!ranks.isAttrPresent(function))
      ranks.setAttr(function, Builder(&getContext()).getI64IntegerAttr(decided->mesh.numDevices()));
  }
};
} // namespace
