//===- ElementwiseKinds.td - One row a kind of unary and binary -*- tablegen -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A row is everything about a kind that is data. The enumerations, the verifier,
// the cost, the ONNX importer and exporter and the tests of kernels, gradients
// and round trips read it. Emission, evaluation on the host and the derivative are
// code, in Elementwise/Unary.cpp and Elementwise/Binary.cpp; a row without its
// code does not compile. docs/guide/adding-an-operator.md adds a kind.
//
// TableGen has no floating-point numbers, so rows write numbers as strings.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_ELEMENTWISE_KINDS
#define SLUICE_DATAFLOW_ELEMENTWISE_KINDS

include "mlir/IR/EnumAttr.td"

/// The element types that the verifier admits: see ElementClass in ElementwiseKinds.h.
class Elements<string name> {
  string enumerator = "ElementClass::" # name;
}
def Anything : Elements<"Any">;
def Numbers : Elements<"Number">;
def Floats : Elements<"Float">;
def Integers : Elements<"Integer">;
def Bools : Elements<"Bool">;

/// The ONNX operator of a kind and the opset that introduces it. `alpha` and `beta` name the node's attributes that hold
/// the kind's parameters; the defaults are those of ONNX. `isVariadic`: the node takes any number of operands.
/// `ownImport`: the operator has a converter of its own in lib/Onnx/Import/ConvertElementwise.cpp.
class Onnx<string type, int opset, string alpha = "", string alphaDefault = "0", string beta = "",
           string betaDefault = "0", bit isVariadic = 0, bit ownImport = 0> {
  string operator = type;
  bits<8> since = opset;
  string alphaName = alpha;
  string alphaFallback = alphaDefault;
  string betaName = beta;
  string betaFallback = betaDefault;
  bit variadic = isVariadic;
  bit hasOwnImport = ownImport;
}

/// How the tests use a kind of `unary`: with `alpha` and `beta`, f(at) = gives, a number from another source than the
/// evaluation, which is the reference of all other tests. Kernels compute elements in `range` and special values (NaN,
/// infinities, zeros, large numbers); the gradient is compared with central differences in `slopeRange`, away from kinks
/// and poles, for alpha = 0.3 and -0.4. `isPeriodic`: kernels may lose large arguments in range reduction.
class UnaryTest<string at, string gives, string alpha = "0", string beta = "0", list<string> range = ["-1", "1"],
                list<string> slopeRange = range, bit alphaIsPositive = 0, bit isPeriodic = 0> {
  string x = at;
  string y = gives;
  string parameters = "{" # alpha # ", " # beta # "}";
  string fill = "{" # !interleave(range, ", ") # "}";
  string slopeFill = "{" # !interleave(slopeRange, ", ") # "}";
  bit positiveAlpha = alphaIsPositive;
  bit periodic = isPeriodic;
}

/// A kind of `unary`. `flops`: multiply-adds an element costs (a transcendental function about 16). `isTest`: the result
/// is bool. `isFlat`: the derivative is zero wherever it exists. An operator type of "" is a kind without an ONNX operator.
class Unary<string name, int kind, Elements elements, Onnx onnx, UnaryTest test, int flops = 16, bit isTest = 0,
            bit isFlat = 0> : I32EnumAttrCase<name, kind> {
  bits<8> kindValue = kind;
  string kindName = name;
  string elementClass = elements.enumerator;
  string onnxType = onnx.operator;
  bits<8> onnxSince = onnx.since;
  bit hasOwnImport = onnx.hasOwnImport;
  string alphaName = onnx.alphaName;
  string alphaDefault = onnx.alphaFallback;
  string betaName = onnx.betaName;
  string betaDefault = onnx.betaFallback;
  bits<8> elementFlops = flops;
  bit givesBool = isTest;
  bit hasZeroDerivative = isFlat;

  string testAt = test.x;
  string testGives = test.y;
  string testParameters = test.parameters;
  string testFill = test.fill;
  string testSlopeFill = test.slopeFill;
  bit testPositiveAlpha = test.positiveAlpha;
  bit testPeriodic = test.periodic;
}

/// As UnaryTest: f(lhs, rhs) = gives. Kernels compute floats in `range` with `special` values, and integers in
/// `integers` (from 0 for unsigned ones), special ones included where the range is the default. Gradients draw the
/// operands from `lhsSlopeRange` and `rhsSlopeRange`.
class BinaryTest<string lhs, string rhs, string gives, list<string> range = ["-3", "3"], bit special = 1,
                 list<string> integers = ["-9", "9"], list<string> lhsSlopeRange = ["0.3", "2"],
                 list<string> rhsSlopeRange = ["0.3", "2"]> {
  string x = lhs;
  string y = rhs;
  string z = gives;
  string fill = "{" # !interleave(range, ", ") # ", " # !if(special, "true", "false") # "}";
  string integerFill = "{" # !interleave(integers, ", ") # ", " # !if(!eq(!head(integers), "-9"), "true", "false") # "}";
  string lhsSlopeFill = "{" # !interleave(lhsSlopeRange, ", ") # "}";
  string rhsSlopeFill = "{" # !interleave(rhsSlopeRange, ", ") # "}";
}

/// A kind of `binary`, whose operands and result have one element type.
class Binary<string name, int kind, Elements elements, Onnx onnx, BinaryTest test, int flops = 1>
    : I32EnumAttrCase<name, kind> {
  bits<8> kindValue = kind;
  string kindName = name;
  string elementClass = elements.enumerator;
  string onnxType = onnx.operator;
  bits<8> onnxSince = onnx.since;
  bit hasOwnImport = onnx.hasOwnImport;
  bit isVariadic = onnx.variadic;
  bits<8> elementFlops = flops;

  string testLhs = test.x;
  string testRhs = test.y;
  string testGives = test.z;
  string testFill = test.fill;
  string testIntegerFill = test.integerFill;
  string testLhsSlopeFill = test.lhsSlopeFill;
  string testRhsSlopeFill = test.rhsSlopeFill;
}

defvar Dataflow_UnaryKinds = [
  Unary<"abs", 0, Anything, Onnx<"Abs", 1>, flops=1,
        test=UnaryTest<"-0.75", "0.75", slopeRange=["0.2", "2"]>>,
  Unary<"neg", 1, Anything, Onnx<"Neg", 1>, flops=1,
        test=UnaryTest<"0.75", "-0.75", slopeRange=["-2", "2"]>>,
  Unary<"exp", 2, Floats, Onnx<"Exp", 1>,
        test=UnaryTest<"1.5", "4.4816890703380645", range=["-5", "5"], slopeRange=["-2", "2"]>>,
  Unary<"log", 3, Floats, Onnx<"Log", 1>,
        test=UnaryTest<"2.5", "0.9162907318741551", range=["0.01", "9"], slopeRange=["0.3", "3"]>>,
  Unary<"sqrt", 4, Floats, Onnx<"Sqrt", 1>,
        test=UnaryTest<"2.5", "1.5811388300841898", range=["0", "9"], slopeRange=["0.3", "3"]>>,
  Unary<"reciprocal", 5, Floats, Onnx<"Reciprocal", 1>,
        test=UnaryTest<"2.5", "0.4", range=["0.1", "4"], slopeRange=["0.4", "2"]>>,
  Unary<"sin", 6, Floats, Onnx<"Sin", 7>,
        test=UnaryTest<"2.5", "0.5984721441039565", range=["-7", "7"], slopeRange=["-3", "3"], isPeriodic=1>>,
  Unary<"cos", 7, Floats, Onnx<"Cos", 7>,
        test=UnaryTest<"2.5", "-0.8011436155469337", range=["-7", "7"], slopeRange=["-3", "3"], isPeriodic=1>>,
  Unary<"tan", 8, Floats, Onnx<"Tan", 7>,
        test=UnaryTest<"0.75", "0.9315964599440725", range=["-1.3", "1.3"], slopeRange=["-1", "1"], isPeriodic=1>>,
  Unary<"asin", 9, Floats, Onnx<"Asin", 7>,
        test=UnaryTest<"0.75", "0.848062078981481", slopeRange=["-0.8", "0.8"]>>,
  Unary<"acos", 10, Floats, Onnx<"Acos", 7>,
        test=UnaryTest<"0.75", "0.7227342478134157", slopeRange=["-0.8", "0.8"]>>,
  Unary<"atan", 11, Floats, Onnx<"Atan", 7>,
        test=UnaryTest<"2.5", "1.1902899496825317", range=["-5", "5"], slopeRange=["-3", "3"]>>,
  Unary<"sinh", 12, Floats, Onnx<"Sinh", 9>,
        test=UnaryTest<"1.5", "2.1292794550948173", range=["-3", "3"], slopeRange=["-2", "2"]>>,
  Unary<"cosh", 13, Floats, Onnx<"Cosh", 9>,
        test=UnaryTest<"1.5", "2.352409615243247", range=["-3", "3"], slopeRange=["-2", "2"]>>,
  Unary<"tanh", 14, Floats, Onnx<"Tanh", 1>,
        test=UnaryTest<"0.75", "0.6351489523872873", range=["-5", "5"], slopeRange=["-2", "2"]>>,
  Unary<"asinh", 15, Floats, Onnx<"Asinh", 9>,
        test=UnaryTest<"2.5", "1.6472311463710958", range=["-5", "5"], slopeRange=["-3", "3"]>>,
  Unary<"acosh", 16, Floats, Onnx<"Acosh", 9>,
        test=UnaryTest<"2.5", "1.566799236972411", range=["1", "9"], slopeRange=["1.3", "4"]>>,
  Unary<"atanh", 17, Floats, Onnx<"Atanh", 9>,
        test=UnaryTest<"0.75", "0.9729550745276566", range=["-0.9", "0.9"], slopeRange=["-0.8", "0.8"]>>,
  Unary<"erf", 18, Floats, Onnx<"Erf", 9>,
        test=UnaryTest<"0.75", "0.7111556336535151", range=["-3", "3"], slopeRange=["-2", "2"]>>,
  Unary<"sigmoid", 19, Floats, Onnx<"Sigmoid", 1>,
        test=UnaryTest<"1.5", "0.8175744761936437", range=["-9", "9"], slopeRange=["-4", "4"]>>,
  Unary<"relu", 20, Anything, Onnx<"Relu", 1>, flops=1,
        test=UnaryTest<"-0.75", "0", slopeRange=["-2", "2"]>>,
  Unary<"leaky_relu", 21, Floats, Onnx<"LeakyRelu", 1, alpha="alpha", alphaDefault="0.01">, flops=1,
        test=UnaryTest<"-0.75", "-0.07500000000000001", alpha="0.1", slopeRange=["-2", "2"]>>,
  Unary<"elu", 22, Floats, Onnx<"Elu", 1, alpha="alpha", alphaDefault="1">,
        test=UnaryTest<"-0.75", "-0.791450170888478", alpha="1.5", range=["-3", "3"], slopeRange=["-2", "2"]>>,
  Unary<"selu", 23, Floats, Onnx<"Selu", 6, alpha="alpha", alphaDefault="1.67326319217681884765625", beta="gamma",
              betaDefault="1.05070102214813232421875">,
        test=UnaryTest<"-0.75", "-0.9252052497686307", alpha="1.67", beta="1.05",
                       range=["-3", "3"], slopeRange=["-2", "2"]>>,
  Unary<"celu", 24, Floats, Onnx<"Celu", 12, alpha="alpha", alphaDefault="1">,
        test=UnaryTest<"-0.75", "-0.6254214424180555", alpha="2", range=["-3", "3"], slopeRange=["-2", "2"],
                       alphaIsPositive=1>>,
  Unary<"thresholded_relu", 25, Floats, Onnx<"ThresholdedRelu", 10, alpha="alpha", alphaDefault="1">,
        test=UnaryTest<"0.5", "0", alpha="0.7", range=["-2", "2"]>>,
  Unary<"hard_sigmoid", 26, Floats, Onnx<"HardSigmoid", 6, alpha="alpha", alphaDefault="0.2", beta="beta", betaDefault="0.5">,
        flops=1,
        test=UnaryTest<"1.5", "0.8", alpha="0.2", beta="0.5", range=["-5", "5"], slopeRange=["-4", "4"]>>,
  Unary<"hard_swish", 27, Floats, Onnx<"HardSwish", 14>, flops=1,
        test=UnaryTest<"1.5", "1.125", range=["-5", "5"]>>,
  Unary<"softplus", 28, Floats, Onnx<"Softplus", 1>,
        test=UnaryTest<"1.5", "1.7014132779827524", range=["-9", "9"], slopeRange=["-4", "4"]>>,
  Unary<"softsign", 29, Floats, Onnx<"Softsign", 1>,
        test=UnaryTest<"1.5", "0.6", range=["-5", "5"], slopeRange=["-4", "4"]>>,
  Unary<"gelu", 30, Floats, Onnx<"Gelu", 20, ownImport=1>,
        test=UnaryTest<"0.75", "0.5800294857173488", range=["-4", "4"], slopeRange=["-3", "3"]>>,
  Unary<"gelu_tanh", 31, Floats, Onnx<"Gelu", 20, ownImport=1>,
        test=UnaryTest<"0.75", "0.5799605551656203", range=["-4", "4"], slopeRange=["-3", "3"]>>,
  Unary<"mish", 32, Floats, Onnx<"Mish", 18>,
        test=UnaryTest<"1.5", "1.4033782663958028", range=["-5", "5"], slopeRange=["-3", "3"]>>,
  Unary<"swish", 33, Floats, Onnx<"Swish", 24, alpha="alpha", alphaDefault="1">,
        test=UnaryTest<"1.5", "1.3569758026513359", alpha="1.5", range=["-5", "5"], slopeRange=["-3", "3"]>>,
  Unary<"sign", 34, Anything, Onnx<"Sign", 9>, isFlat=1,
        test=UnaryTest<"-0.75", "-1", slopeRange=["0.2", "2"]>>,
  Unary<"floor", 35, Anything, Onnx<"Floor", 1>, isFlat=1,
        test=UnaryTest<"-2.5", "-3", range=["-5", "5"], slopeRange=["0.2", "0.8"]>>,
  Unary<"ceil", 36, Anything, Onnx<"Ceil", 1>, isFlat=1,
        test=UnaryTest<"-2.5", "-2", range=["-5", "5"], slopeRange=["0.2", "0.8"]>>,
  Unary<"round", 37, Anything, Onnx<"Round", 11>, isFlat=1,
        test=UnaryTest<"-2.5", "-2", range=["-5", "5"], slopeRange=["0.6", "0.9"]>>,
  Unary<"logical_not", 38, Bools, Onnx<"Not", 1>, isFlat=1,
        test=UnaryTest<"1", "0">>,
  Unary<"bitwise_not", 39, Integers, Onnx<"BitwiseNot", 18>, isFlat=1,
        test=UnaryTest<"5", "-6">>,
  Unary<"is_nan", 40, Floats, Onnx<"IsNaN", 9>, isTest=1, isFlat=1,
        test=UnaryTest<"0.75", "0">>,
  Unary<"is_inf", 41, Floats, Onnx<"IsInf", 10, ownImport=1>, isTest=1, isFlat=1,
        test=UnaryTest<"0.75", "0", alpha="1">>,
  Unary<"shrink", 42, Floats, Onnx<"Shrink", 9, alpha="lambd", alphaDefault="0.5", beta="bias", betaDefault="0">,
        test=UnaryTest<"-1.25", "-1.05", alpha="0.5", beta="0.2", range=["-2", "2"]>>
];

defvar Dataflow_BinaryKinds = [
  Binary<"add", 0, Numbers, Onnx<"Add", 1>, test=BinaryTest<"2", "3", "5">>,
  Binary<"sub", 1, Numbers, Onnx<"Sub", 1>, test=BinaryTest<"5", "3", "2">>,
  Binary<"mul", 2, Numbers, Onnx<"Mul", 1>, test=BinaryTest<"2", "3", "6">>,
  Binary<"div", 3, Numbers, Onnx<"Div", 1>, test=BinaryTest<"12", "4", "3">>,
  Binary<"pow", 4, Numbers, Onnx<"Pow", 1, ownImport=1>, flops=32,
         test=BinaryTest<"2", "5", "32", range=["0.1", "3"], integers=["0", "5"]>>,
  Binary<"mod", 5, Numbers, Onnx<"Mod", 10, ownImport=1>,
         test=BinaryTest<"11", "4", "3", special=0, lhsSlopeRange=["2.2", "2.8"], rhsSlopeRange=["0.95", "1.05"]>>,
  Binary<"fmod", 6, Numbers, Onnx<"Mod", 10, ownImport=1>,
         test=BinaryTest<"11", "4", "3", lhsSlopeRange=["2.2", "2.8"], rhsSlopeRange=["0.95", "1.05"]>>,
  Binary<"max", 7, Numbers, Onnx<"Max", 1, isVariadic=1>, test=BinaryTest<"2", "3", "3">>,
  Binary<"min", 8, Numbers, Onnx<"Min", 1, isVariadic=1>, test=BinaryTest<"2", "3", "2">>,
  Binary<"logical_and", 9, Bools, Onnx<"And", 1>, test=BinaryTest<"1", "0", "0">>,
  Binary<"logical_or", 10, Bools, Onnx<"Or", 1>, test=BinaryTest<"1", "0", "1">>,
  Binary<"logical_xor", 11, Bools, Onnx<"Xor", 1>, test=BinaryTest<"1", "1", "0">>,
  Binary<"bitwise_and", 12, Integers, Onnx<"BitwiseAnd", 18>, test=BinaryTest<"12", "10", "8">>,
  Binary<"bitwise_or", 13, Integers, Onnx<"BitwiseOr", 18>, test=BinaryTest<"12", "10", "14">>,
  Binary<"bitwise_xor", 14, Integers, Onnx<"BitwiseXor", 18>, test=BinaryTest<"12", "10", "6">>,
  Binary<"shift_left", 15, Integers, Onnx<"BitShift", 11, ownImport=1>,
         test=BinaryTest<"3", "2", "12", integers=["0", "70"]>>,
  Binary<"shift_right", 16, Integers, Onnx<"BitShift", 11, ownImport=1>,
         test=BinaryTest<"13", "2", "3", integers=["0", "70"]>>,
  Binary<"prelu", 17, Numbers, Onnx<"PRelu", 1, ownImport=1>, test=BinaryTest<"2", "3", "2", lhsSlopeRange=["-2", "2"]>>
];

#endif // SLUICE_DATAFLOW_ELEMENTWISE_KINDS
