//===- NodeContext.h - What a converter sees of a node ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A converter turns one node into dataflow operators. Builders here return a
// null value once anything is wrong, and take null operands, so that a chain
// needs one check at its end: `return node.result(value)`.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_IMPORT_NODECONTEXT_H
#define SLUICE_LIB_ONNX_IMPORT_NODECONTEXT_H

#include "Intervals.h"
#include "dialects/Dataflow/IR/Indices.h"
#include "dialects/Dataflow/IR/TensorBuilder.h"
#include "lib/Onnx/TensorTypes.h"
#include "sluice/Onnx/Dimensions.h"
#include "sluice/Onnx/ModelFile.h"
#include "sluice/Support/Error.h"
#include "sluice/Support/Text.h"

#include <functional>
#include <map>
#include <onnx/onnx_pb.h>
#include <optional>
#include <string>

namespace sluice::onnximport {

class Training;

using dataflow::Dims;
using Builder = dataflow::TensorBuilder;

using onnxtensor::elementTypeFromOnnx;
using onnxtensor::elementTypeOf;
using onnxtensor::isIntegral;
using onnxtensor::kFoldElements;
using onnxtensor::kInlineBytes;
using onnxtensor::rankOf;
using onnxtensor::shapeOf;
using onnxtensor::tensorType;

/// Small data inline, larger data as a resource that keeps its owner. Null where the dialect has no such type.
mlir::ElementsAttr constantAttribute(mlir::MLIRContext *context, const TensorData &data, llvm::StringRef name);

/// Text held in a tensor that its model has checked.
mlir::Value stringConstant(mlir::OpBuilder &builder, mlir::Location location, const ::onnx::TensorProto &tensor);

class Extents;
class Origins;
class Ranks;

/// What importing one model makes of memory beyond the model's own.
struct ImportBudget {
  static constexpr int64_t kMostBytes = int64_t(4) << 30;
  Count bytes;
  /// Constants made so far, by the TensorProto or SparseTensorProto they are made of. Unrolled loops and functions
  /// called again read one constant many times.
  llvm::DenseMap<const void *, mlir::ElementsAttr> constants;

  /// The least and the greatest element of constants that nodes use as indices; nullopt where they are no indices.
  llvm::DenseMap<mlir::Attribute, std::optional<std::pair<int64_t, int64_t>>> indexBounds;

  /// Whether there is memory for so many bytes more, which are counted then.
  bool take(Count more) {
    if (bytes + more > kMostBytes)
      return false;
    bytes += more;
    return true;
  }
};

/// What a DequantizeLinear was made of: (bytes - zeroPoint) * scale, the zero point null or of the bytes' type, both of
/// one element or one for each position of `axis`, or, where `block` is not 0, for each so many of them.
struct Dequantized {
  mlir::Value bytes, zeroPoint, scale;
  int64_t axis = -1;
  int64_t block = 0;
};
/// The values that DequantizeLinear nodes made, over the whole model: importing erases none that a node has made.
using DequantizedValues = llvm::DenseMap<mlir::Value, Dequantized>;

/// Extents that each step finds in its data, in the order in which a model's nodes need them. The programs of a range
/// share the list, which the first of them writes.
struct FoundExtents {
  std::vector<std::pair<std::string, int64_t>> bounds; ///< Of each: a name, and the upper bound.
  size_t firstSymbol = 0;                              ///< The symbol of the first one.
  std::vector<int64_t> values = {};                    ///< Those of the program being made; empty: the upper bounds.
  /// By node, and which time it is imported: how much its result has room for, at the upper bounds.
  std::map<std::pair<std::string, int>, int64_t> rooms = {};
  std::map<std::string, int> uses = {}; ///< Of a node in the program being made.
  bool findsInPrograms = true;          ///< Of loops.
  bool isInProgram = false;             ///< Whether some are found there.
};

class NodeContext : public Builder {
public:
  NodeContext(mlir::OpBuilder &builder, mlir::Location location, const ModelFile &model, const ::onnx::NodeProto &proto,
              int64_t opset, llvm::ArrayRef<mlir::Value> inputs, Training *training = nullptr)
      : Builder(builder, location), proto(proto), opset(opset), training(training), model(model), inputs(inputs) {}

  const ::onnx::NodeProto &proto;
  /// The version of the node's domain.
  const int64_t opset;
  /// Null where the model is to infer.
  Training *const training;
  /// See ImportOptions.
  bool unrollsLoops = false, hasGrids = false;
  /// In a branch that a condition may not choose, or without an influence on the results: what would be an error when
  /// it runs is none yet.
  bool mayNotRun = false;
  /// Of all values of the model.
  Extents *extents = nullptr;
  Ranks *ranks = nullptr;
  /// The nodes that values follow from; null: messages do not name them.
  const Origins *origins = nullptr;
  /// Null where the model is trained: integers have no gradients.
  DequantizedValues *dequantized = nullptr;
  /// Null where extents cannot be found in a step.
  FoundExtents *found = nullptr;
  /// What holds of a value, dense, its extents those that a step finds; the value where it holds whole, or where that
  /// cannot be.
  std::function<mlir::Value(mlir::Value)> whole;
  /// How much a result has room for: the same in the programs of all sizes. `index` tells rooms of a node apart.
  int64_t roomOf(int64_t here, size_t index = 0) const;
  /// What elements of tensors are at most, as the user says. Null: nothing is said.
  const SaidBounds *bounds = nullptr;
  /// Of elements of tensors that give extents: their counts, one for all nodes of a program that read them.
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> *sizes = nullptr;
  /// An extent that an operand gives.
  struct Size {
    int64_t room = 0;       ///< Its value, or what it is at most.
    mlir::Value count = {}; ///< An i64 scalar, not negative, where the value is not known.
  };
  /// An element of an operand that is a scalar or a vector of integers.
  struct Element {
    std::optional<int64_t> known = {};
    Interval range = {};    ///< What follows from the operators that compute it; the upper end also as the user says.
    mlir::Value value = {}; ///< An i64 scalar.
    mlir::Value list = {};  ///< A value that it is an element of, and where.
    int64_t position = 0;
  };
  /// Where an element of a list comes from, through lists that are put together and parts of lists: nodes that are told
  /// an extent in other ways know by it that it is the same.
  static std::pair<mlir::Value, int64_t> sourceOf(mlir::Value list, int64_t position);
  /// The elements of an operand. Reports an operand that is no short list of integers.
  llvm::FailureOr<llvm::SmallVector<Element>> elementsAt(size_t index, llvm::StringRef what);
  /// The name of an input of the node; empty where it has none.
  llvm::StringRef inputName(size_t index) const {
    return index < static_cast<size_t>(proto.input_size()) ? proto.input(static_cast<int>(index)) : llvm::StringRef();
  }
  /// Reports an operand that has no upper bound.
  llvm::LogicalResult unbounded(size_t index, llvm::StringRef what) {
    return unsupported("its " + what +
                       " is not known before the model runs and has no upper bound, give an upper bound by --bound " +
                       inputName(index) + "=N" + originOf(inputs[index]));
  }
  /// The elements of an operand, a scalar or a vector, of which those that are not known have a bound: what follows
  /// from the operators that compute them, what the user says, or else the entry of `otherwise`, where that is not
  /// negative. Reports those that have none.
  llvm::FailureOr<llvm::SmallVector<Size>> sizesAt(size_t index, llvm::StringRef what,
                                                   const std::optional<Dims> &otherwise = std::nullopt);
  /// A value of which only `count` positions of a dimension hold; all of them where it is null.
  mlir::Value held(mlir::Value value, int64_t dimension, mlir::Value count);

  size_t inputCount() const { return inputs.size(); }
  /// Present and not the empty name.
  bool has(size_t index) const { return index < inputs.size() && inputs[index]; }
  mlir::Value input(size_t index) const { return has(index) ? inputs[index] : mlir::Value(); }
  bool wantsOutput(int index) const { return index < proto.output_size() && !proto.output(index).empty(); }
  /// Fails unless inputs 0 .. count-1 are there.
  llvm::LogicalResult require(size_t count);

  const ::onnx::AttributeProto *find(llvm::StringRef name) const;
  /// Null also where the attribute is of another type, which `mistyped` then says. Models of ONNX's first versions do
  /// not say the types.
  const ::onnx::AttributeProto *find(llvm::StringRef name, ::onnx::AttributeProto::AttributeType type) const;
  /// Reports an attribute that is not among those the converter reads, or an output beyond the first `outputs`. For
  /// operators outside the standard, whose attributes grow without a new version.
  llvm::LogicalResult knows(llvm::ArrayRef<llvm::StringRef> attributes, int outputs);
  int64_t integerOr(llvm::StringRef name, int64_t fallback) const;
  double numberOr(llvm::StringRef name, double fallback) const;
  std::string stringOr(llvm::StringRef name, llvm::StringRef fallback) const;
  /// What `choices` have for the text of an attribute; fails with a report where they have nothing.
  template <typename T>
  llvm::FailureOr<T> choiceOr(llvm::StringRef name, llvm::StringRef fallback,
                              std::initializer_list<std::pair<llvm::StringRef, T>> choices) {
    const std::string text = stringOr(name, fallback);
    for (const auto &[known, choice] : choices)
      if (known == text)
        return choice;
    std::vector<std::string> supported;
    for (const auto &[known, choice] : choices)
      supported.push_back(known.str());
    return invalid("its " + name + " is '" + text + "', which is not supported", "use " + alternatives(supported));
  }
  std::optional<Dims> integersAt(llvm::StringRef name) const;
  std::optional<llvm::SmallVector<std::string>> stringsAt(llvm::StringRef name) const;
  std::optional<llvm::SmallVector<double>> numbersAt(llvm::StringRef name) const;

  /// The elements of an integer (or, second, floating-point) input known while importing; reports otherwise.
  llvm::FailureOr<Dims> constantIntegers(size_t index, llvm::StringRef what);
  llvm::FailureOr<llvm::SmallVector<double>> constantNumbers(size_t index, llvm::StringRef what);
  /// The elements of a constant as doubles; nothing where its data is not there.
  static std::optional<llvm::SmallVector<double>> numbersOf(mlir::ElementsAttr constant);

  /// Indices that ONNX calls an error where they are not `allowed`, element i by entry i modulo their number: constants
  /// are checked here, an input of the model before each step. Operators clamp what the model computes.
  llvm::LogicalResult limit(mlir::Value indices, llvm::ArrayRef<dataflow::AllowedIndices> allowed);

  /// Reports where importing makes too large constants, `bytes` among them.
  llvm::LogicalResult spend(Count bytes);

  /// What the model declares of an output's shape, -1 for what is no number; nothing where it declares none.
  std::optional<Dims> declaredShape(int output) const;

  /// The numbers of a tensor held in an attribute; none where there is no such attribute, or it holds text.
  llvm::SmallVector<double> numbersIn(llvm::StringRef name);
  /// The data of a tensor held in an attribute.
  mlir::Value constant(const ::onnx::TensorProto &tensor);

  /// [-rank, rank) -> [0, rank); reports otherwise.
  llvm::FailureOr<int64_t> axis(int64_t axis, int64_t rank);
  /// Each as above, sorted; reports repetitions.
  llvm::FailureOr<Dims> axes(llvm::ArrayRef<int64_t> axes, int64_t rank);

  /// The model is wrong. The advice says what to do; empty: the reason says it.
  llvm::LogicalResult invalid(const llvm::Twine &reason, llvm::StringRef advice = "correct the model");
  /// The model asks what we do not do; goes to the list of unsupported nodes.
  llvm::LogicalResult unsupported(const llvm::Twine &reason);

  /// The results of a subgraph held in an attribute; reports what its nodes lack.
  llvm::FailureOr<llvm::SmallVector<mlir::Value>> importBody(const ::onnx::GraphProto &body,
                                                             llvm::ArrayRef<mlir::Value> arguments);
  std::function<Expected<llvm::SmallVector<mlir::Value>>(const ::onnx::GraphProto &, llvm::ArrayRef<mlir::Value>)>
      bodyImporter;

  llvm::LogicalResult result(mlir::Value value) { return results({value}); }
  llvm::LogicalResult results(llvm::ArrayRef<mlir::Value> values);

  /// The model's budget; null outside of a node's conversion.
  ImportBudget *budget = nullptr;
  llvm::SmallVector<mlir::Value> outputs;
  bool isUnsupported = false;
  std::string reason, advice;
  /// What is wrong with the type of an attribute that the converter asked for; empty: nothing.
  mutable std::string mistyped;

private:
  /// In a message, the nodes that say an operand that is not known: " (input 'n' -> Mul 'm' -> Range 'r')".
  std::string originOf(mlir::Value operand) const;
  bool isKnownToFit(mlir::Value indices, llvm::ArrayRef<dataflow::AllowedIndices> allowed) const;

  const ModelFile &model;
  llvm::SmallVector<mlir::Value> inputs;
};

using Converter = llvm::LogicalResult (*)(NodeContext &);

/// One operator from one version of its domain on, until the next entry's.
struct OperatorEntry {
  const char *domain;
  const char *name;
  int64_t since;
  Converter convert;
  /// Its operands may be sequences and optionals without a value: see Lists.h.
  bool takesLists = false;
};

llvm::ArrayRef<OperatorEntry> attentionOperators();
llvm::ArrayRef<OperatorEntry> classifierOperators();
llvm::ArrayRef<OperatorEntry> contribAttentionOperators();
llvm::ArrayRef<OperatorEntry> contribExpertOperators();
llvm::ArrayRef<OperatorEntry> contribNormOperators();
llvm::ArrayRef<OperatorEntry> contribQuantizeOperators();
llvm::ArrayRef<OperatorEntry> elementwiseOperators();
llvm::ArrayRef<OperatorEntry> encoderOperators();
llvm::ArrayRef<OperatorEntry> lossOperators();
llvm::ArrayRef<OperatorEntry> mlOperators();
llvm::ArrayRef<OperatorEntry> olderTreeOperators();
llvm::ArrayRef<OperatorEntry> selectionOperators();
llvm::ArrayRef<OperatorEntry> sequenceOperators();
llvm::ArrayRef<OperatorEntry> signalOperators();
llvm::ArrayRef<OperatorEntry> stringOperators();
llvm::ArrayRef<OperatorEntry> treeOperators();
llvm::ArrayRef<OperatorEntry> visionOperators();
llvm::ArrayRef<OperatorEntry> linearOperators();
llvm::ArrayRef<OperatorEntry> windowOperators();
llvm::ArrayRef<OperatorEntry> normOperators();
llvm::ArrayRef<OperatorEntry> reduceOperators();
llvm::ArrayRef<OperatorEntry> movementOperators();
llvm::ArrayRef<OperatorEntry> indexingOperators();
llvm::ArrayRef<OperatorEntry> resizeOperators();
llvm::ArrayRef<OperatorEntry> constantOperators();
llvm::ArrayRef<OperatorEntry> quantizeOperators();
llvm::ArrayRef<OperatorEntry> recurrentOperators();

/// The entry of an operator at a version of its domain; null where there is none. `known` tells whether the operator
/// exists at another version.
const OperatorEntry *findOperator(llvm::StringRef domain, llvm::StringRef name, int64_t version, bool &known);

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_NODECONTEXT_H
