//===- ElementwiseTables.td - The rows of kinds as C++ tables -*- tablegen -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// llvm-tblgen -gen-searchable-tables writes the rows twice: what the compiler
// reads (ElementwiseKinds.h) and what the tests read (ElementwiseTests.h). Tables
// are sorted by their first field.
//
//===----------------------------------------------------------------------===//

include "llvm/TableGen/SearchableTable.td"
include "dialects/Dataflow/IR/DataflowBase.td"

def kUnaryRows : GenericTable {
  let FilterClass = "Unary";
  let CppTypeName = "UnaryRow";
  let Fields = ["kindValue", "kindName", "elementClass", "elementFlops", "givesBool", "hasZeroDerivative", "onnxType",
                "onnxSince", "hasOwnImport", "alphaName", "alphaDefault", "betaName", "betaDefault"];
  string TypeOf_elementClass = "code";
  string TypeOf_alphaDefault = "code";
  string TypeOf_betaDefault = "code";
}

def kUnaryTests : GenericTable {
  let FilterClass = "Unary";
  let CppTypeName = "UnaryTest";
  let Fields = ["kindValue", "testAt", "testGives", "testParameters", "testFill", "testSlopeFill", "testPositiveAlpha",
                "testPeriodic"];
  string TypeOf_testAt = "code";
  string TypeOf_testGives = "code";
  string TypeOf_testParameters = "code";
  string TypeOf_testFill = "code";
  string TypeOf_testSlopeFill = "code";
}

def kBinaryRows : GenericTable {
  let FilterClass = "Binary";
  let CppTypeName = "BinaryRow";
  let Fields = ["kindValue", "kindName", "elementClass", "elementFlops", "onnxType", "onnxSince", "hasOwnImport",
                "isVariadic"];
  string TypeOf_elementClass = "code";
}

def kBinaryTests : GenericTable {
  let FilterClass = "Binary";
  let CppTypeName = "BinaryTest";
  let Fields = ["kindValue", "testLhs", "testRhs", "testGives", "testFill", "testIntegerFill", "testLhsSlopeFill",
                "testRhsSlopeFill"];
  string TypeOf_testLhs = "code";
  string TypeOf_testRhs = "code";
  string TypeOf_testGives = "code";
  string TypeOf_testFill = "code";
  string TypeOf_testIntegerFill = "code";
  string TypeOf_testLhsSlopeFill = "code";
  string TypeOf_testRhsSlopeFill = "code";
}
