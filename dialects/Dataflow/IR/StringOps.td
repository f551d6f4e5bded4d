//===- StringOps.td - Operators on text --------------------*- tablegen -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// An element of text is a `!dataflow.string`, which operators that move elements
// move as any other.
// Kernels here call the runtime, and run where host memory is.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_STRINGOPS
#define SLUICE_DATAFLOW_STRINGOPS

def Dataflow_StringCase : Dataflow_Enum<"StringCase", [Case<"unchanged", 0>, Case<"lower", 1>, Case<"upper", 2>]>;
def Dataflow_StringCaseAttr : Dataflow_EnumAttr<Dataflow_StringCase, "string_case">;

class Dataflow_StringOp<string mnemonic, list<Trait> traits = []>
    : Dataflow_Op<mnemonic, !listconcat([Kernel<["allowsEpilogue"]>, Cost], traits)> {
  let extraClassDefinition = "bool $cppClass::allowsEpilogue() { return false; }";
}

def StringConstantOp : Dataflow_StringOp<"string_constant"> {
  let summary = "Text that the model holds";
  let arguments = (ins StrArrayAttr:$values);
  let results = (outs Dataflow_StringTensor:$result);
  let assemblyFormat = "$values attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def StringEqualOp : Dataflow_StringOp<"string_equal", [AllTypesMatch<["lhs", "rhs"]>, AllShapesMatch<["lhs", "result"]>]> {
  let summary = "Element-wise: the same bytes";
  let arguments = (ins Dataflow_StringTensor:$lhs, Dataflow_StringTensor:$rhs);
  let results = (outs Dataflow_BoolTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
}

def StringConcatOp : Dataflow_StringOp<"string_concat", [AllTypesMatch<["lhs", "rhs", "result"]>]> {
  let summary = "Element-wise: one text behind the other";
  let arguments = (ins Dataflow_StringTensor:$lhs, Dataflow_StringTensor:$rhs);
  let results = (outs Dataflow_StringTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}

def StringFindOp : Dataflow_StringOp<"string_find", [AllShapesMatch<["input", "result"]>]> {
  let summary = "Element-wise: the text's place among the keys, their number where it is none of them";
  let description = "Of equal keys the first counts.";
  let arguments = (ins Dataflow_StringTensor:$input, StrArrayAttr:$keys);
  let results = (outs RankedTensorOf<[I64]>:$result);
  let assemblyFormat = "$input `in` $keys attr-dict `:` type($input) `->` type($result)";
}

def StringNormalizeOp : Dataflow_StringOp<"string_normalize"> {
  let summary = "Takes words out, and changes the case of what stays";
  let description = [{
    `input` is a list; `kept` begins with those of its elements that are no
    stop word, in their case, and `count` says how many. Where none stays it is
    one empty text. Unless `case_sensitive`, words are compared in lower case.
    Case is Unicode's simple mapping, the same in every locale; bytes that are no
    UTF-8 stay as they are.
  }];
  let arguments = (ins Dataflow_StringTensor:$input, Dataflow_StringCaseAttr:$change, StrArrayAttr:$stop_words,
                       UnitAttr:$case_sensitive);
  let results = (outs Dataflow_StringTensor:$kept, RankedTensorOf<[I64]>:$count);
  let assemblyFormat = "$change $input `without` $stop_words attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def StringSplitOp : Dataflow_StringOp<"string_split"> {
  let summary = "Each text's parts between delimiters, at most as many as there is room for";
  let description = [{
    `parts` has a dimension more than `input`, for `room` parts; the last of them
    is all that is left, delimiters included, and what an element does not fill
    is empty text. `counts` says how many each has, `most` the greatest of them.
    An empty delimiter stands for runs of white space; those at the ends part
    nothing, and where there is nothing else there are no parts. (As Python.)
  }];
  let arguments = (ins Dataflow_StringTensor:$input, StrAttr:$delimiter);
  let results = (outs Dataflow_StringTensor:$parts, RankedTensorOf<[I64]>:$counts, RankedTensorOf<[I64]>:$most);
  let assemblyFormat = "$input `at` $delimiter attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // SLUICE_DATAFLOW_STRINGOPS
