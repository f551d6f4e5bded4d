//===- NodeContext.h - What a converter sees of a node ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A converter turns one node into dataflow operators. Builders here return a null value after an error and accept null
// operands, so that a chain of calls needs only one check at its end: `return node.result(value)`.
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

/// Makes a constant: small data inline, larger data as a resource that keeps its owner. Null if the dialect has no such
/// type.
mlir::ElementsAttr constantAttribute(mlir::MLIRContext *context, const TensorData &data, llvm::StringRef name);

/// A constant of the text in a tensor that has been checked.
mlir::Value stringConstant(mlir::OpBuilder &builder, mlir::Location location, const ::onnx::TensorProto &tensor);

class Extents;
class Origins;
class Ranks;

/// The memory that importing one model uses beyond the model's own.
struct ImportBudget {
  static constexpr int64_t kMostBytes = int64_t(4) << 30;
  Count bytes;
  /// Constants made so far, by the TensorProto or SparseTensorProto that they are made of. Unrolled loops and repeated
  /// calls of functions read one constant many times.
  llvm::DenseMap<const void *, mlir::ElementsAttr> constants;

  /// The least and the greatest element of constants that nodes use as indices; nullopt if they cannot be indices.
  llvm::DenseMap<mlir::Attribute, std::optional<std::pair<int64_t, int64_t>>> indexBounds;

  /// Whether there is memory for so many bytes more, which are counted then.
  bool take(Count more) {
    if (bytes + more > kMostBytes)
      return false;
    bytes += more;
    return true;
  }
};

/// The operands of a DequantizeLinear, (bytes - zeroPoint) * scale. The zero point is null or of the bytes' type. It
/// and the scale have one element, or one for each position of `axis`, or one for each `block` positions if `block` is
/// not 0.
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
  std::vector<std::pair<std::string, int64_t>> bounds; ///< The name and the upper bound of each extent.
  size_t firstSymbol = 0;                              ///< The symbol of the first extent.
  std::vector<int64_t> values = {}; ///< The values in the current program; empty for the upper bounds.
  /// How much room a node's result has at the upper bounds, by the node and the number of the import of this node.
  std::map<std::pair<std::string, int>, int64_t> rooms = {};
  std::map<std::string, int> uses = {}; ///< How many times a node has been imported in the current program.
  bool findsInPrograms = true;          ///< Whether extents may be found in the programs of loops.
  bool isInProgram = false;             ///< Whether some extents are found there.
};

class NodeContext : public Builder {
public:
  NodeContext(mlir::OpBuilder &builder, mlir::Location location, const ModelFile &model, const ::onnx::NodeProto &proto,
              int64_t opset, llvm::ArrayRef<mlir::Value> inputs, Training *training = nullptr)
      : Builder(builder, location), proto(proto), opset(opset), training(training), model(model), inputs(inputs) {}

  const ::onnx::NodeProto &proto;
  /// The version of the node's domain.
  const int64_t opset;
  /// Null if the model is imported for inference.
  Training *const training;
  /// See ImportOptions.
  bool unrollsLoops = false, hasGrids = false;
  /// Whether the node is in a branch that a condition may not choose, or has no influence on the results. Then what
  /// would be an error at run time must not fail the import.
  bool mayNotRun = false;
  /// Of all values of the model.
  Extents *extents = nullptr;
  Ranks *ranks = nullptr;
  /// The nodes that values follow from; null if messages must not name them.
  const Origins *origins = nullptr;
  /// Null if the model is trained, because integers have no gradients.
  DequantizedValues *dequantized = nullptr;
  /// Null if steps cannot find extents.
  FoundExtents *found = nullptr;
  /// The valid part of a value as a dense tensor, whose extents the step finds. Returns the value itself if all of it
  /// is valid, or if that is impossible.
  std::function<mlir::Value(mlir::Value)> whole;
  /// How much room a result has, which is the same in the programs for all sizes. `index` distinguishes the rooms of
  /// one node.
  int64_t roomOf(int64_t here, size_t index = 0) const;
  /// The user's bounds of elements of tensors; null if there are none.
  const SaidBounds *bounds = nullptr;
  /// The counts for elements of tensors that are extents: one count for all nodes of a program that read the element.
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> *sizes = nullptr;
  /// An extent that an operand determines.
  struct Size {
    int64_t room = 0;       ///< The value, or an upper bound of it.
    mlir::Value count = {}; ///< An i64 scalar, not negative, if the value is unknown.
  };
  /// An element of an operand that is a scalar or a vector of integers.
  struct Element {
    std::optional<int64_t> known = {};
    /// The interval that follows from the operators that compute it. Its upper end also respects the user's bounds.
    Interval range = {};
    mlir::Value value = {}; ///< An i64 scalar.
    mlir::Value list = {};  ///< A list that it is an element of, and its position there.
    int64_t position = 0;
  };
  /// Finds the origin of an element of a list, through concatenations and slices of lists. By the origin, nodes
  /// recognize the same extent, even if they get it in different ways.
  static std::pair<mlir::Value, int64_t> sourceOf(mlir::Value list, int64_t position);
  /// The elements of an operand. Reports an operand that is no short list of integers.
  llvm::FailureOr<llvm::SmallVector<Element>> elementsAt(size_t index, llvm::StringRef what);
  /// The number of elements of operand `index`, which gives extents or axes and is called `what`. Reports it if they
  /// are not known and more than elementsAt() reads.
  llvm::FailureOr<int64_t> countAt(size_t index, llvm::StringRef what);
  /// The name of an input of the node; empty if it has none.
  llvm::StringRef inputName(size_t index) const {
    return index < static_cast<size_t>(proto.input_size()) ? proto.input(static_cast<int>(index)) : llvm::StringRef();
  }
  /// Reports an operand that has no upper bound.
  llvm::LogicalResult unbounded(size_t index, llvm::StringRef what) {
    return unsupported("its " + what +
                       " is not known before the model runs and has no upper bound, give an upper bound by --bound " +
                       inputName(index) + "=N" + originOf(inputs[index]));
  }
  /// The elements of an operand, a scalar or a vector. Each unknown element gets a bound: from the operators that
  /// compute it, from the user's bounds, or else from `otherwise`, if the entry there is not negative. Reports elements
  /// without a bound.
  llvm::FailureOr<llvm::SmallVector<Size>> sizesAt(size_t index, llvm::StringRef what,
                                                   const std::optional<Dims> &otherwise = std::nullopt);
  /// Marks only `count` positions of a dimension as valid; null means all.
  mlir::Value held(mlir::Value value, int64_t dimension, mlir::Value count);

  size_t inputCount() const { return inputs.size(); }
  /// Whether the input is present, and its name is not empty.
  bool has(size_t index) const { return index < inputs.size() && inputs[index]; }
  mlir::Value input(size_t index) const { return has(index) ? inputs[index] : mlir::Value(); }
  bool wantsOutput(int index) const { return index < proto.output_size() && !proto.output(index).empty(); }
  /// Fails unless inputs 0 to count - 1 are present.
  llvm::LogicalResult require(size_t count);

  const ::onnx::AttributeProto *find(llvm::StringRef name) const;
  /// Null also if the attribute has another type; `mistyped` then has the message. Models of ONNX's first versions do
  /// not state the types.
  const ::onnx::AttributeProto *find(llvm::StringRef name, ::onnx::AttributeProto::AttributeType type) const;
  /// Reports an attribute that is not among those the converter reads, or an output beyond the first `outputs`. For
  /// operators outside the standard, whose attributes grow without a new version.
  llvm::LogicalResult knows(llvm::ArrayRef<llvm::StringRef> attributes, int outputs);
  int64_t integerOr(llvm::StringRef name, int64_t fallback) const;
  double numberOr(llvm::StringRef name, double fallback) const;
  std::string stringOr(llvm::StringRef name, llvm::StringRef fallback) const;
  /// The entry of `choices` for the text of an attribute; fails with a report if there is none.
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
  /// The elements of a constant as doubles; nothing if its data is missing.
  static std::optional<llvm::SmallVector<double>> numbersOf(mlir::ElementsAttr constant);

  /// Restricts indices for which ONNX defines an error out of range. Entry i modulo the number of entries of `allowed`
  /// is for element i. Checks constants here; an input of the model is checked before each step. Operators clamp
  /// indices that the model computes.
  llvm::LogicalResult limit(mlir::Value indices, llvm::ArrayRef<dataflow::AllowedIndices> allowed);

  /// Reports if the constants that the import makes, with `bytes` more, are too large.
  llvm::LogicalResult spend(Count bytes);

  /// The shape that the model declares for an output, with -1 for extents that are not numbers; nothing if it declares
  /// none.
  std::optional<Dims> declaredShape(int output) const;

  /// The numbers of a tensor in an attribute; none if there is no such attribute, or if it holds text.
  llvm::SmallVector<double> numbersIn(llvm::StringRef name);
  /// The data of a tensor held in an attribute.
  mlir::Value constant(const ::onnx::TensorProto &tensor);

  /// Maps an axis in [-rank, rank) to [0, rank); reports other axes.
  llvm::FailureOr<int64_t> axis(int64_t axis, int64_t rank);
  /// Maps each axis in this way and sorts them; reports repetitions.
  llvm::FailureOr<Dims> axes(llvm::ArrayRef<int64_t> axes, int64_t rank);

  /// The model is wrong. The advice says what to do; empty: the reason says it.
  llvm::LogicalResult invalid(const llvm::Twine &reason, llvm::StringRef advice = "correct the model");
  /// Reports that the model needs something unsupported. The report goes to the list of unsupported nodes.
  llvm::LogicalResult unsupported(const llvm::Twine &reason);

  /// The results of a subgraph in an attribute; reports its unsupported nodes.
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
  /// The message about an attribute of a wrong type that the converter asked for; empty if there is none.
  mutable std::string mistyped;

private:
  /// For messages, the nodes that determine an unknown operand: " (input 'n' -> Mul 'm' -> Range 'r')".
  std::string originOf(mlir::Value operand) const;
  bool isKnownToFit(mlir::Value indices, llvm::ArrayRef<dataflow::AllowedIndices> allowed) const;

  const ModelFile &model;
  llvm::SmallVector<mlir::Value> inputs;
};

using Converter = llvm::LogicalResult (*)(NodeContext &);

/// One operator from one version of its domain on, up to the version of its next entry.
struct OperatorEntry {
  const char *domain;
  const char *name;
  int64_t since;
  Converter convert;
  /// Whether its operands may be sequences and optionals without a value: see Lists.h.
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

/// The entry of an operator at a version of its domain; null if there is none. Sets `known` to whether the operator
/// exists at another version.
const OperatorEntry *findOperator(llvm::StringRef domain, llvm::StringRef name, int64_t version, bool &known);

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_NODECONTEXT_H
