//===- CarryStates.cpp - Inputs and outputs that steps carry on -----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/Extents.h"
#include "dialects/Dataflow/IR/FirstError.h"
#include "dialects/Dataflow/IR/FunctionAttributes.h"
#include "dialects/Dataflow/IR/Shapes.h"
#include "passes/Passes.h"

#include "sluice/Support/Error.h"
#include "sluice/Support/Text.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

namespace sluice {
#define GEN_PASS_DEF_CARRYSTATESPASS
#include "passes/Passes.h.inc"
} // namespace sluice

namespace {

/// An input and the output that is its value in the next step.
struct Pair {
  unsigned input = 0, output = 0;
};

/// What the stars of a pattern stand for in a name; nullopt where the name does not match. Each star but the last takes
/// as little as it can.
std::optional<SmallVector<StringRef>> matchStars(StringRef pattern, StringRef name) {
  SmallVector<StringRef> parts, taken;
  pattern.split(parts, '*');
  if (!name.consume_front(parts.front()))
    return std::nullopt;
  for (size_t i = 1; i < parts.size(); ++i) {
    const size_t at = i + 1 < parts.size()                                         ? name.find(parts[i])
                      : name.size() >= parts[i].size() && name.ends_with(parts[i]) ? name.size() - parts[i].size()
                                                                                   : StringRef::npos;
    if (at == StringRef::npos)
      return std::nullopt;
    taken.push_back(name.take_front(at));
    name = name.drop_front(at + parts[i].size());
  }
  return name.empty() ? std::optional(taken) : std::nullopt;
}

std::string fillStars(StringRef pattern, ArrayRef<StringRef> stars) {
  SmallVector<StringRef> parts;
  pattern.split(parts, '*');
  std::string name = parts.front().str();
  for (size_t i = 1; i < parts.size(); ++i)
    name += (stars[i - 1] + parts[i]).str();
  return name;
}

class Carrier {
public:
  explicit Carrier(func::FuncOp function) : function(function), body(function.getBody().front()), builder(function) {}

  Status run(ArrayRef<StringRef> texts);

private:
  template <typename... Ts>
  Status bad(StringRef text, const std::string &what, const Ts &...advice) const {
    return makeError(ErrorCode::InvalidInput, what, ", option '--state ", excerpt(text.str()), "', ", advice...);
  }
  Status addPairs(StringRef text);
  Status addPair(StringRef text, unsigned input, StringRef output);
  Status carry(const Pair &pair);
  Status checkTypes(const Pair &pair, std::optional<int64_t> &dim) const;
  Status grow(const Pair &pair, int64_t dim);
  Status noteLength(const Pair &pair, const Extent &now, const Extent &next);
  StateOp makeState(const Pair &pair, RankedTensorType type);
  Value slice(Location loc, Value of, RankedTensorType type);
  SmallVector<Value> takeReshapes(Value leading, Value whole, int64_t dim);

  StringRef nameOf(const Pair &pair) const { return inputName(function, pair.input).getValue(); }
  std::string namesOf(const Pair &pair) const {
    return concat("input '", excerpt(nameOf(pair).str()), "' and output '",
                  excerpt(outputName(function, pair.output).str()), "'");
  }

  func::FuncOp function;
  Block &body;
  OpBuilder builder;
  SmallVector<Pair> pairs;
  /// For each symbol that is a length: the value after the step, and how a diagnostic names the pair.
  llvm::MapVector<AffineExpr, std::pair<Extent, std::string>> lengths;
};

Status Carrier::addPair(StringRef text, unsigned input, StringRef output) {
  std::vector<std::string> known;
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    const StringAttr name = outputName(function, i);
    if (!name || updatedState(function, i))
      continue;
    if (name.getValue() != output) {
      known.push_back(name.str());
      continue;
    }
    for (const Pair &pair : pairs)
      if (pair.input == input || pair.output == i)
        return bad(text, concat(namesOf({input, i}), " are a pair, and another --state already names one of the two"),
                   "name each input and each output once");
    pairs.push_back({input, i});
    return {};
  }
  return bad(text, concat("the model has no output '", excerpt(output.str()), "'"), "use ", alternatives(known));
}

/// A name may hold an equals sign: the first one counts whose left side is an input.
Status Carrier::addPairs(StringRef text) {
  bool hasEquals = false;
  for (size_t equals = text.find('='); equals != StringRef::npos; equals = text.find('=', equals + 1)) {
    const StringRef past = text.take_front(equals), present = text.drop_front(equals + 1);
    hasEquals |= !past.empty() && !present.empty();
    if (past.count('*') != present.count('*'))
      continue;
    bool isFound = false;
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (const StringAttr name = inputName(function, i))
        if (const auto stars = matchStars(past, name.getValue())) {
          SLUICE_RETURN_IF_ERROR(addPair(text, i, fillStars(present, *stars)));
          isFound = true;
        }
    if (isFound)
      return {};
  }
  if (!hasEquals)
    return bad(text, "the text does not name an input and an output", "write PAST=PRESENT");
  std::vector<std::string> known;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (const StringAttr name = inputName(function, i))
      known.push_back(name.str());
  return bad(text, "no input of the model fits this text (both sides of '=' need the same number of stars)",
             known.empty() ? "leave this option out" : "use " + alternatives(known));
}

/// Sets the dimension along which a state grows; none of a state that does not.
Status Carrier::checkTypes(const Pair &pair, std::optional<int64_t> &dim) const {
  const Value past = body.getArgument(pair.input), present = body.getTerminator()->getOperand(pair.output);
  const Extents now = extentsOf(past), next = extentsOf(present);
  auto fail = [&](const std::string &what, const auto &...advice) {
    return makeError(ErrorCode::InvalidInput, namesOf(pair), " ", what, ", option '--state', ", advice...);
  };
  if (func::FuncOp(function).getArgAttr(pair.input, DataflowDialect::FixedAttrHelper::getNameStr()))
    return fail("cannot become a state, because option '--fix' gives this input one value for all steps",
                "leave out --fix or --state for this input");
  if (elementOf(past) != elementOf(present) || now.size() != next.size()) {
    std::string types;
    llvm::raw_string_ostream(types) << elementOf(past) << " in " << now.size() << " dimensions and "
                                    << elementOf(present) << " in " << next.size();
    return fail("hold " + types, "pair tensors of the same element type and rank");
  }
  if (isString(elementOf(past)))
    return fail("hold text, which states do not support", "pair tensors of numbers");
  for (size_t d = 0; d < now.size(); ++d) {
    if (now[d] == next[d] && now[d].isConstant())
      continue;
    if (now[d] == next[d])
      return fail(concat("have the same range of sizes in dimension ", d,
                         ", and a state needs one size in a dimension that a step does not change"),
                  "give this dimension one size by --dim");
    if (dim)
      return fail(concat("differ in dimensions ", *dim, " and ", d, ", and a state can grow along one dimension only"),
                  "give one of these dimensions the same size in both");
    dim = static_cast<int64_t>(d);
  }
  if (!dim)
    return {};
  const Extent &length = now[*dim];
  if (length.isConstant() || !isa<AffineSymbolExpr>(length.expr()))
    return fail(concat("have at most ", length.most(), " elements before and ", next[*dim].most(),
                       " after a step in dimension ", *dim, ", and a state that grows needs a range in this dimension"),
                "give a range by --dim NAME=0..MOST");
  const auto symbol = cast<AffineSymbolExpr>(length.expr()).getPosition();
  if (length.symbols().isFound(symbol) || length.symbols().getLeast()[symbol] != 0 ||
      length.symbols().getSteps()[symbol] != 1)
    return fail(concat("grow along dimension ", *dim,
                       ", and the range of this dimension must start at 0 and have steps of 1 (it starts at ",
                       length.symbols().getLeast()[symbol], ")"),
                "give the range by --dim ", length.symbols().getNames()[symbol].str(), "=0..", length.most());
  return {};
}

/// All states whose length is one symbol grow by as much.
Status Carrier::noteLength(const Pair &pair, const Extent &now, const Extent &next) {
  const auto [entry, isNew] = lengths.insert({now.expr(), {next, namesOf(pair)}});
  if (!isNew && !(entry->second.first == next))
    return makeError(
        ErrorCode::InvalidInput, namesOf(pair), " and ", entry->second.second,
        " grow by different numbers of positions along dimensions of the same name, option '--state', leave one ",
        "of the two pairs out");
  return {};
}

StateOp Carrier::makeState(const Pair &pair, RankedTensorType type) {
  builder.setInsertionPointToStart(&body);
  const BlockArgument past = body.getArgument(pair.input);
  return StateOp::create(builder, past.getLoc(), type, inputName(function, pair.input),
                         SplatElementsAttr::get(type, builder.getZeroAttr(type.getElementType())), UnitAttr());
}

Value Carrier::slice(Location loc, Value of, RankedTensorType type) {
  const SmallVector<int64_t> starts(type.getRank(), 0), steps(type.getRank(), 1);
  return SliceOp::create(builder, loc, type, of, starts, steps);
}

/// Products with the transposition of a cache's matrices read the cache itself: the transposition would be a copy.
static void takeTranspositions(Value cache) {
  auto isOfMatrices = [](TransposeOp op) {
    SmallVector<int64_t> exchanged(op.getPermutation());
    if (exchanged.size() < 2)
      return false;
    std::swap(exchanged[exchanged.size() - 1], exchanged[exchanged.size() - 2]);
    return llvm::is_sorted(exchanged);
  };
  for (Operation *user : llvm::make_early_inc_range(cache.getUsers())) {
    auto transposition = dyn_cast<TransposeOp>(user);
    if (!transposition || !isOfMatrices(transposition))
      continue;
    for (OpOperand &use : llvm::make_early_inc_range(transposition->getUses()))
      if (auto product = dyn_cast<MatmulOp>(use.getOwner()); product && use.getOperandNumber() == 1) {
        product.setTransposeRhs(!product.getTransposeRhs());
        use.set(cache);
      }
    if (transposition.use_empty())
      transposition.erase();
  }
}

/// Reshapes of the leading part of a cache that add or remove dimensions of one element become leading parts of the
/// reshaped cache, which moves nothing. Returns all leading parts.
SmallVector<Value> Carrier::takeReshapes(Value leading, Value whole, int64_t dim) {
  SmallVector<Value> parts{leading};
  auto longDims = [](const Extents &extents) {
    SmallVector<int64_t> dims;
    for (auto [d, extent] : llvm::enumerate(extents))
      if (!extent.is(1))
        dims.push_back(static_cast<int64_t>(d));
    return dims;
  };
  const Extents from = extentsOf(leading);
  const SmallVector<int64_t> before = longDims(from);
  for (Operation *user : llvm::make_early_inc_range(leading.getUsers())) {
    auto reshape = dyn_cast<ReshapeOp>(user);
    if (!reshape)
      continue;
    const RankedTensorType type = reshape.getType();
    const Extents to = extentsOf(type);
    const SmallVector<int64_t> after = longDims(to);
    if (after.size() != before.size() || llvm::any_of(llvm::zip(before, after), [&](auto pair) {
          return from[std::get<0>(pair)] != to[std::get<1>(pair)];
        }))
      continue;
    SmallVector<int64_t> shape(type.getShape());
    shape[after[llvm::find(before, dim) - before.begin()]] = typeOf(whole).getDimSize(dim);
    const Value room =
        ReshapeOp::create(builder, reshape.getLoc(), RankedTensorType::get(shape, type.getElementType()), whole);
    parts.push_back(slice(reshape.getLoc(), room, type));
    reshape.replaceAllUsesWith(parts.back());
    reshape.erase();
  }
  return parts;
}

/// The operator that adds positions behind those of the past, these positions, and the first one's number where the
/// operator has it as an operand.
struct Addition {
  Operation *op = nullptr;
  SmallVector<Value> part;
  Value start;
};

/// A concatenation of the past and more; or an insertion into it and room for as many positions as are inserted. Null
/// where the new value is something else.
static Addition addedTo(Value past, Value present, int64_t dim) {
  auto behind = [&](ConcatOp joined) -> SmallVector<Value> {
    const bool isBehind = joined && static_cast<int64_t>(joined.getAxis()) == dim && joined.getInputs().size() > 1 &&
                          joined.getInputs().front() == past;
    return isBehind ? SmallVector<Value>(joined.getInputs().drop_front()) : SmallVector<Value>();
  };
  if (auto joined = present.getDefiningOp<ConcatOp>())
    if (SmallVector<Value> part = behind(joined); !part.empty())
      return {joined, part, {}};
  if (auto insert = present.getDefiningOp<InsertOp>(); insert && static_cast<int64_t>(insert.getDim()) == dim)
    if (const SmallVector<Value> room = behind(insert.getInto().getDefiningOp<ConcatOp>());
        room.size() == 1 && extentsOf(room.front())[dim] == extentsOf(insert.getPart())[dim])
      return {insert, {insert.getPart()}, insert.getStart()};
  return {};
}

/// The state has room for its greatest length, and keeps the strides that this gives: what a step adds is stored behind
/// what is there. `present` is then the leading part of the new value.
Status Carrier::grow(const Pair &pair, int64_t dim) {
  Operation *terminator = body.getTerminator();
  const BlockArgument past = body.getArgument(pair.input);
  const Value present = terminator->getOperand(pair.output);
  const RankedTensorType pastType = typeOf(past), presentType = typeOf(present);
  const Extent now = extentsOf(past)[dim], next = extentsOf(present)[dim];
  SLUICE_RETURN_IF_ERROR(noteLength(pair, now, next));
  SmallVector<int64_t> shape(presentType.getShape());
  shape[dim] = std::max(now.most(), next.most());
  StateOp state = makeState(pair, RankedTensorType::get(shape, presentType.getElementType()));
  const auto map = AffineMap::get(0, static_cast<unsigned>(now.symbols().size()),
                                  {now.expr(), next.expr() ? next.expr() : builder.getAffineConstantExpr(next.most())},
                                  builder.getContext());
  state.setLengthAttr(ExtentsAttr::get(builder.getContext(), map, now.symbols()));
  const auto scalar = RankedTensorType::get({}, builder.getI64Type());
  const auto [joined, part, given] = addedTo(past, present, dim);
  if (!joined) {
    builder.setInsertionPoint(terminator);
    const Value start = ConstantOp::create(builder, present.getLoc(), DenseElementsAttr::get(scalar, int64_t(0)));
    terminator->setOperand(pair.output, InsertOp::create(builder, present.getLoc(), state.getType(), state, present,
                                                         start, builder.getI64IntegerAttr(dim)));
  } else {
    const Location loc = joined->getLoc();
    builder.setInsertionPoint(joined);
    Value start = given;
    if (!start) {
      const auto length = AffineMapAttr::get(
          AffineMap::get(0, static_cast<unsigned>(now.symbols().size()), {now.expr()}, builder.getContext()));
      start = ExtentsOp::create(builder, loc, scalar, length, now.symbols());
    }
    Value added = part.front();
    if (part.size() > 1)
      added = ConcatOp::create(builder, loc, part, static_cast<uint64_t>(dim));
    const Value whole =
        InsertOp::create(builder, loc, state.getType(), state, added, start, builder.getI64IntegerAttr(dim));
    terminator->setOperand(pair.output, whole);
    if (!joined->use_empty()) {
      const Value all = slice(loc, whole, presentType);
      joined->getResult(0).replaceAllUsesWith(all);
      for (Value read : takeReshapes(all, whole, dim))
        takeTranspositions(read);
    }
    joined->erase();
  }
  if (!past.use_empty()) {
    builder.setInsertionPointAfter(state);
    body.getArgument(pair.input).replaceAllUsesWith(slice(past.getLoc(), state, pastType));
  }
  return {};
}

Status Carrier::carry(const Pair &pair) {
  std::optional<int64_t> dim;
  SLUICE_RETURN_IF_ERROR(checkTypes(pair, dim));
  if (dim) {
    SLUICE_RETURN_IF_ERROR(grow(pair, *dim));
  } else {
    BlockArgument past = body.getArgument(pair.input);
    past.replaceAllUsesWith(makeState(pair, typeOf(past)));
  }
  function.removeResultAttr(pair.output, builder.getStringAttr(DataflowDialect::NameAttrHelper::getNameStr()));
  function.setResultAttr(pair.output, DataflowDialect::UpdatesAttrHelper::getNameStr(),
                         inputName(function, pair.input));
  return {};
}

Status Carrier::run(ArrayRef<StringRef> texts) {
  for (StringRef text : texts)
    SLUICE_RETURN_IF_ERROR(addPairs(text));
  for (const Pair &pair : pairs)
    SLUICE_RETURN_IF_ERROR(carry(pair));
  llvm::BitVector gone(function.getNumArguments());
  for (const Pair &pair : pairs)
    gone.set(pair.input);
  function.setType(
      FunctionType::get(function.getContext(), body.getArgumentTypes(), body.getTerminator()->getOperandTypes()));
  if (failed(function.eraseArguments(gone)))
    return makeError(ErrorCode::Internal,
                     "the inputs that are states now cannot be removed, this is a bug of Sluice, please report it");
  return {};
}

struct CarryStates : sluice::impl::CarryStatesPassBase<CarryStates> {
  using CarryStatesPassBase::CarryStatesPassBase;

  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    SmallVector<StringRef> texts;
    StringRef(states.getValue()).split(texts, '\n', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
    if (Status carried = Carrier(getOperation()).run(texts); !carried) {
      emitError(getOperation(), carried.error());
      signalPassFailure();
    }
  }
};
} // namespace
