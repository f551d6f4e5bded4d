//===- GraphImporter.h - A graph's nodes to operators -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_IMPORT_GRAPHIMPORTER_H
#define SLUICE_LIB_ONNX_IMPORT_GRAPHIMPORTER_H

#include "Extents.h"
#include "Lists.h"
#include "Loops.h"
#include "NodeContext.h"
#include "Origins.h"
#include "Ranks.h"
#include "TrainingStates.h"
#include "lib/Onnx/ModelInternals.h"
#include "sluice/Onnx/Import.h"
#include "sluice/Support/Text.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

#include <deque>

namespace sluice::onnximport {

/// Builds the program of one model. ControlFlow.cpp unrolls control flow into the program, and Programs.cpp turns it
/// into operators such as dataflow.loop.
class GraphImporter {
public:
  /// The constants of the model's initializers, which the programs for different sizes share.
  using Initializers = llvm::DenseMap<const ::onnx::TensorProto *, mlir::ElementsAttr>;
  /// `found`: where extents may be found in a step.
  GraphImporter(mlir::MLIRContext &context, const ModelFile &model, FoundExtents *found = nullptr,
                Initializers *initializers = nullptr)
      : model(model), builder(&context), found(found), initializers(initializers) {}
  Expected<mlir::OwningOpRef<mlir::ModuleOp>> run(const ImportOptions &options);

private:
  Status fixInputs(const BoundInputs &bound, const ImportOptions &options, mlir::func::FuncOp function);
  /// An argument of the program: an input, or an element of one that is a sequence.
  struct Port {
    std::string name;
    mlir::RankedTensorType type;
    size_t input;
  };
  Status declareInputs(const BoundInputs &bound, std::vector<Port> &ports) const;
  /// Imports the nodes of a graph, in order, into the innermost scope.
  Status importNodes(const ::onnx::GraphProto &graph);
  Status importNode(const ::onnx::NodeProto &node);
  /// importNode() for a node of a graph or function. The graph's results may or may not follow from the node.
  Status importMember(const ::onnx::NodeProto &node, bool isLive);
  /// What converters of a node see. Its extents are found where it is.
  NodeContext contextOf(const ::onnx::NodeProto &node, llvm::ArrayRef<mlir::Value> inputs);
  bool findsHere() const { return found && (found->findsInPrograms || builder.getInsertionBlock() == entry); }
  Status convertNode(const ::onnx::NodeProto &node, const OperatorEntry &entry, llvm::ArrayRef<mlir::Value> inputs);
  /// convertNode, and what its results have of the counts of their operands. Where it cannot be said, or the node
  /// cannot be converted so, it is converted again, of operands that end where they hold.
  Status convertFollowed(const ::onnx::NodeProto &node, const OperatorEntry &entry, llvm::ArrayRef<mlir::Value> inputs);
  Status followExtents(const ::onnx::NodeProto &node, mlir::Operation *first);
  /// Reports a converted node that depends on the rank of an operand if only the data determines that rank.
  void checkRanks(const ::onnx::NodeProto &node, llvm::ArrayRef<mlir::Value> inputs, mlir::Operation *first);
  /// Reports a node. Its outputs become null.
  void leaveOut(const ::onnx::NodeProto &node, const std::string &reason);
  /// What holds of a value, dense; null where there are too many symbols.
  mlir::Value takeFound(mlir::Value value);
  /// The inputs of a program, all of which holds; reports those of which it does not.
  std::optional<llvm::SmallVector<mlir::Value>> takeInputs(const ::onnx::NodeProto &node,
                                                           llvm::ArrayRef<mlir::Value> inputs);
  /// Imports a subgraph with the given inputs. Results are null if operators that they follow from are unsupported.
  Expected<llvm::SmallVector<mlir::Value>> importBody(const ::onnx::GraphProto &body,
                                                      llvm::ArrayRef<mlir::Value> arguments);
  /// Imports the branch that the condition chooses, if the condition is known. Otherwise both branches become part of
  /// the program and a select chooses, or they become a dataflow.if.
  Status importIf(const ::onnx::NodeProto &node, llvm::ArrayRef<mlir::Value> inputs);
  /// Unrolls loops whose number of iterations is known and small, and turns others into a dataflow.loop.
  Status importLoop(const ::onnx::NodeProto &node, llvm::ArrayRef<mlir::Value> inputs);
  Status importScan(const ::onnx::NodeProto &node, llvm::ArrayRef<mlir::Value> inputs);
  /// A subgraph in a region beside the program. It may use values of the program until it is isolated.
  struct Program {
    mlir::Region *region = nullptr; ///< An entry of `regions`.
    llvm::SmallVector<mlir::Value> results;
  };
  using ArgumentMaker = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange)>;
  /// `argumentsOf` makes the arguments of the subgraph from those of the region, which have the types `types`.
  Expected<Program> importProgram(const ::onnx::GraphProto &graph, mlir::TypeRange types,
                                  const ArgumentMaker &argumentsOf, mlir::Location location, bool mayNotRun);
  /// Whether the results of a program are tensors with known extents; reports it if they are not.
  bool isTensors(const ::onnx::NodeProto &node, llvm::ArrayRef<mlir::Value> results);
  /// Builds a dataflow.loop whose program makes the condition, the carried tensors and the tensors to stack, and
  /// returns its results; nothing if the loop is reported as unsupported.
  std::optional<llvm::SmallVector<mlir::Value>> makeLoop(const ::onnx::NodeProto &node, const LoopParts &parts,
                                                         Program &program);
  /// Builds a dataflow.if and returns its results; nothing if running both branches costs less.
  std::optional<llvm::SmallVector<mlir::Value>> makeIf(const ::onnx::NodeProto &node, mlir::Value condition,
                                                       Program &ifTrue, Program &ifFalse);
  static constexpr int64_t kEndless = std::numeric_limits<int64_t>::max();
  /// The number of iterations of a loop.
  struct Trips {
    std::optional<int64_t> known; ///< The trip count, if it is a constant.
    bool isCounted = false;       ///< Whether the condition stays true for that many iterations.
    int64_t most = kEndless;      ///< The most iterations; kEndless if no bound is known.
  };
  /// The inputs of a loop. If its condition compares a counter, the trip count is the smaller of the given one and the
  /// number of iterations that the condition implies.
  llvm::SmallVector<mlir::Value> countInputs(const ::onnx::NodeProto &node, const ::onnx::GraphProto &body,
                                             llvm::ArrayRef<mlir::Value> inputs, Trips &trips);
  /// `isChoice`: whether the loop could be unrolled instead, which would give its stacks known extents.
  Status importLoopProgram(const ::onnx::NodeProto &node, const ::onnx::GraphProto &body,
                           llvm::ArrayRef<mlir::Value> inputs, const Trips &trips, bool isChoice);
  /// The most iterations of a loop, by the options, its trip count and the declared shapes of its results; kEndless if
  /// none of these gives a bound.
  int64_t mostTrips(const ::onnx::NodeProto &node, llvm::ArrayRef<mlir::Value> inputs, std::optional<int64_t> trips);
  /// The shape that the model declares for an output of a node of its graph, or for the value that the output is cast
  /// to.
  std::optional<Dims> declaredStack(const ::onnx::NodeProto &node, int output);
  std::string adviseBound(const ::onnx::NodeProto &node, llvm::ArrayRef<mlir::Value> inputs) const;
  /// Imports a loop whose number of iterations is unknown or large: as a dataflow.loop if possible, else unrolled to a
  /// small bound.
  Status importOpenLoop(const ::onnx::NodeProto &node, const ::onnx::GraphProto &body,
                        llvm::ArrayRef<mlir::Value> inputs, Trips trips);
  /// Unrolls a loop to the bound of its iterations.
  struct GuardedLoop {
    std::vector<llvm::SmallVector<mlir::Value>> states; ///< The states after 0, 1, ... iterations.
    std::vector<llvm::SmallVector<mlir::Value>> slabs;  ///< The tensors of each iteration that are to be stacked.
    llvm::SmallVector<mlir::Value> stacks;
    mlir::Value ran; ///< The number of iterations that run, an i64 scalar; null if the body has unsupported nodes.
  };
  Expected<GuardedLoop> runGuarded(NodeContext &context, const ::onnx::GraphProto &body,
                                   llvm::ArrayRef<mlir::Value> inputs, int64_t most);
  Status importGuardedLoop(NodeContext &context, const ::onnx::GraphProto &body, llvm::ArrayRef<mlir::Value> inputs,
                           int64_t most);
  /// Whether an import succeeds. If it does not, its reports and its uses of values are taken back.
  bool succeeds(llvm::function_ref<Status()> import);
  /// The attributes of a Scan node, checked, with defaults filled in.
  struct ScanForm {
    int64_t trips = 0;
    size_t carried = 0;
    Dims inputAxes, outputAxes, inputReversed, outputReversed; ///< Output axes may be negative.
  };
  Expected<llvm::SmallVector<mlir::Value>> scanProgram(const ::onnx::NodeProto &node, const ::onnx::GraphProto &body,
                                                       const ScanForm &form, llvm::ArrayRef<mlir::Value> inputs);
  Expected<llvm::SmallVector<mlir::Value>> scanUnrolled(const ::onnx::NodeProto &node, const ::onnx::GraphProto &body,
                                                        const ScanForm &form, llvm::ArrayRef<mlir::Value> inputs);
  /// Whether a loop of this many iterations is unrolled.
  bool unrolls(const ::onnx::GraphProto &body, int64_t trips);
  /// Decisions to fold and to unroll are the same for each node in the programs for different sizes.
  void nextPart() {
    if (dataflow::FoldLog *log = builder.getContext()->getLoadedDialect<dataflow::DataflowDialect>()->getFoldLog())
      log->nextPart();
  }
  /// The results of one scan; none if it is reported as unsupported.
  Expected<llvm::SmallVector<mlir::Value>> scan(const ::onnx::NodeProto &node, llvm::ArrayRef<mlir::Value> inputs);
  Status importGradient(const ::onnx::NodeProto &node, llvm::ArrayRef<mlir::Value> inputs);
  /// The model's own function that a node calls, or null.
  const ::onnx::FunctionProto *findFunction(const ::onnx::NodeProto &node) const;
  /// Imports the nodes of a function, in a scope that has only its operands.
  Status importFunction(const ::onnx::NodeProto &node, const ::onnx::FunctionProto &function,
                        llvm::ArrayRef<mlir::Value> inputs);
  /// The version of a node's domain: a function imports its own.
  int64_t opsetOf(const ::onnx::NodeProto &node) const;
  Expected<mlir::Value> stackValues(onnximport::Builder &build, const ::onnx::NodeProto &node,
                                    llvm::ArrayRef<mlir::Value> values, int64_t axis);
  static const ::onnx::GraphProto *subgraph(const ::onnx::NodeProto &node, llvm::StringRef name);
  Status bindOutputs(const ::onnx::NodeProto &node, llvm::ArrayRef<mlir::Value> results);
  Status malformed(const ::onnx::NodeProto &node, llvm::StringRef reason, llvm::StringRef advice = "correct the model");
  /// The attribute of an initializer's data. Null if the dialect cannot represent it; the initializer is then listed as
  /// unsupported.
  Expected<mlir::ElementsAttr> readInitializer(const std::string &name, Expected<TensorData> data);
  /// The value of a name; an initializer becomes a constant on first use. Null if its producer is unsupported.
  Expected<mlir::Value> lookup(const std::string &name);
  Status finish(mlir::func::FuncOp function);
  static void tidy(mlir::Block &block);

  /// The name of a node, or that of its first output.
  static llvm::StringRef nameOf(const ::onnx::NodeProto &node) {
    if (!node.name().empty())
      return node.name();
    for (const std::string &output : node.output())
      if (!output.empty())
        return output;
    return node.op_type();
  }
  mlir::Location locationOf(const ::onnx::NodeProto &node) {
    return mlir::NameLoc::get(builder.getStringAttr(nameOf(node)));
  }
  static std::string describe(const ::onnx::NodeProto &node) {
    std::string name = nameOf(node).str();
    std::string domain = node.domain().empty() ? "" : node.domain() + ":";
    return concat("'", excerpt(name), "' (", excerpt(domain + node.op_type()), ")");
  }
  void reportUnsupported(const ::onnx::NodeProto &node, const std::string &reason) {
    unsupported.push_back(concat(describe(node), ", ", node.domain().empty() ? "" : excerpt(node.domain()) + " ",
                                 "opset ", opsetOf(node), ": ", reason));
  }

  const ModelFile &model;
  mlir::OpBuilder builder;
  /// The names of a graph. Names of the graphs around it are visible too.
  struct Scope {
    llvm::StringMap<mlir::Value> values;
    llvm::StringMap<const ::onnx::TensorProto *> initializers;
    /// Whether this is a function's body, where names of outer graphs are not visible.
    const ::onnx::FunctionProto *function = nullptr;
  };
  std::vector<Scope> scopes{Scope()};
  /// Nodes of functions' bodies that refer to attributes, with those of a call.
  std::deque<::onnx::NodeProto> resolvedNodes;
  /// Per called function: the nodes of its body that the results follow from.
  llvm::DenseMap<const ::onnx::FunctionProto *, std::vector<bool>> refersToAttributes;
  ImportBudget budget;
  std::vector<std::string> unsupported;
  /// Nested loops multiply the nodes. Unrolling stops at this number.
  static constexpr int64_t kMostUnrolledNodes = 100000;
  /// A loop of more nodes than this, over all iterations, becomes a dataflow.loop if possible, because a call within a
  /// kernel costs less than a kernel that the program launches.
  static constexpr int64_t kMostLoopNodes = 32;
  /// A loop without a number of iterations is unrolled while its condition is known, up to this many nodes.
  static constexpr int64_t kMostTriedNodes = 2048;
  /// A loop that is unrolled to a bound, because it cannot be a dataflow.loop, may have at most this many nodes.
  static constexpr int64_t kMostGuardedNodes = 4096;
  int64_t unrolledNodes = 0;
  int64_t maxIterations = 0;
  bool unrollsLoops = false, hasGrids = false;
  SaidBounds bounds; ///< See ImportOptions.
  /// The regions of programs. They live as long as the importer, whose tables are keyed by their values.
  std::deque<mlir::Region> regions;
  mlir::Block *entry = nullptr; ///< The block of the program.
  /// Initializers stand before everything else.
  mlir::Operation *lastConstant = nullptr;
  /// Branches around the node being imported whose condition is not known, and nodes without influence on results.
  int conditions = 0;
  std::optional<Training> training;
  Extents extents;
  Ranks ranks;
  llvm::DenseSet<mlir::Operation *> followed; ///< What `extents` knows. None is erased while importing.
  FoundExtents *found = nullptr;
  Initializers *initializers = nullptr;                               ///< May be null.
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> sizes; ///< See NodeContext.
  llvm::DenseMap<mlir::Value, size_t> symbolOfCount;                  ///< Positions in `found`.
  llvm::DenseMap<mlir::Value, mlir::Value> taken;                     ///< What holds of a value.
  DequantizedValues dequantized;
  Origins origins;
  GradientBuilder buildGradient;
};

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_GRAPHIMPORTER_H
