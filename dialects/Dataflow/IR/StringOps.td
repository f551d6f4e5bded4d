//===- StringOps.td - Operators on text --------------------*- tablegen -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// An element of text is a `!dataflow.string`. Operators that move elements move such elements
// like all others. The kernels of this file's operators call the runtime, and run in host memory.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_STRINGOPS
#define SLUICE_DATAFLOW_STRINGOPS

def Dataflow_StringCase : Dataflow_Enum<"StringCase", [Case<"unchanged", 0>, Case<"lower", 1>, Case<"upper", 2>]>;
def Dataflow_StringCaseAttr : Dataflow_EnumAttr<Dataflow_StringCase, "string_case">;

// The operator's kernel calls a function of the host, although neither its operands nor its results are text.
def HostFunction : NativeOpTrait<"HostFunction"> {
  let cppNamespace = "::sluice::dataflow";
}

// The step may fail because of the elements of the operands.
def FailsOnData : NativeOpTrait<"FailsOnData"> {
  let cppNamespace = "::sluice::dataflow";
}

class Dataflow_StringOp<string mnemonic, list<Trait> traits = []>
    : Dataflow_Op<mnemonic, !listconcat([Kernel<["allowsEpilogue"]>, Cost], traits)> {
  let extraClassDefinition = "bool $cppClass::allowsEpilogue() { return false; }";
}

def StringConstantOp : Dataflow_StringOp<"string_constant"> {
  let summary = "Text that is part of the model";
  let description = [{
    Example:

    ```mlir
    %text = dataflow.string_constant ["a", "\C3\A9"] : tensor<2x!dataflow.string>
    ```
  }];
  let arguments = (ins StrArrayAttr:$values);
  let results = (outs Dataflow_StringTensor:$result);
  let assemblyFormat = "$values attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def StringEqualOp : Dataflow_StringOp<"string_equal", [AllTypesMatch<["lhs", "rhs"]>, AllShapesMatch<["lhs", "result"]>]> {
  let summary = "Whether two texts have the same bytes, element-wise";
  let description = [{
    Example:

    ```mlir
    %e = dataflow.string_equal %a, %b : tensor<2x!dataflow.string> -> tensor<2xi1>
    ```
  }];
  let arguments = (ins Dataflow_StringTensor:$lhs, Dataflow_StringTensor:$rhs);
  let results = (outs Dataflow_BoolTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
}

def StringConcatOp : Dataflow_StringOp<"string_concat", [AllTypesMatch<["lhs", "rhs", "result"]>]> {
  let summary = "Concatenation of two texts, element-wise";
  let description = [{
    Example:

    ```mlir
    %ab = dataflow.string_concat %a, %b : tensor<2x!dataflow.string>
    ```
  }];
  let arguments = (ins Dataflow_StringTensor:$lhs, Dataflow_StringTensor:$rhs);
  let results = (outs Dataflow_StringTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}

def StringFindOp : Dataflow_StringOp<"string_find", [AllShapesMatch<["input", "result"]>]> {
  let summary = "The position of a text among the keys, or their number if it is none of them, element-wise";
  let description = [{
    If keys are equal, the first one is used.

    Example:

    ```mlir
    %i = dataflow.string_find %text in ["x", "y"] : tensor<2x!dataflow.string> -> tensor<2xi64>
    ```
  }];
  let arguments = (ins Dataflow_StringTensor:$input, StrArrayAttr:$keys);
  let results = (outs RankedTensorOf<[I64]>:$result);
  let assemblyFormat = "$input `in` $keys attr-dict `:` type($input) `->` type($result)";
}

def StringNormalizeOp : Dataflow_StringOp<"string_normalize"> {
  let summary = "Removes words, and changes the case of the others";
  let description = [{
    `input` is a list. `kept` begins with the elements that are not stop words, with their
    case changed. `count` is their number. If no element remains, `kept` is one empty text.
    Words are compared in lower case unless `case_sensitive` is set. Case follows the simple
    mapping of Unicode, in every locale. Bytes that are not UTF-8 do not change.

    Example:

    ```mlir
    %kept, %count = dataflow.string_normalize lower %words without ["the"] {case_sensitive}
        : (tensor<4x!dataflow.string>) -> (tensor<4x!dataflow.string>, tensor<i64>)
    ```
  }];
  let arguments = (ins Dataflow_StringTensor:$input, Dataflow_StringCaseAttr:$change, StrArrayAttr:$stop_words,
                       UnitAttr:$case_sensitive);
  let results = (outs Dataflow_StringTensor:$kept, RankedTensorOf<[I64]>:$count);
  let assemblyFormat = "$change $input `without` $stop_words attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def StringSplitOp : Dataflow_StringOp<"string_split"> {
  let summary = "The parts of each text between delimiters, up to a maximum number";
  let description = [{
    `parts` has one more dimension than `input`, for `room` parts. The last part is the
    whole remainder, including delimiters. Parts that a text does not have are empty.
    `counts` has the number of parts of each text, and `most` is the greatest of these
    numbers. An empty delimiter stands for runs of white space, as in Python. Runs at both
    ends separate nothing, and a text of only white space has no parts. With `whole`, a text
    with more parts than `room` is an error.

    Example:

    ```mlir
    %parts, %counts, %most = dataflow.string_split %text at ","
        : (tensor<4x!dataflow.string>) -> (tensor<4x2x!dataflow.string>, tensor<4xi64>, tensor<i64>)
    ```
  }];
  let arguments = (ins Dataflow_StringTensor:$input, StrAttr:$delimiter, UnitAttr:$whole);
  let results = (outs Dataflow_StringTensor:$parts, RankedTensorOf<[I64]>:$counts, RankedTensorOf<[I64]>:$most);
  let assemblyFormat = "$input `at` $delimiter attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def StringMatchOp : Dataflow_StringOp<"string_match", [AllShapesMatch<["input", "result"]>]> {
  let summary = "Whether a regular expression matches the whole text, element-wise";
  let description = [{
    The expression has RE2's syntax and semantics.

    Example:

    ```mlir
    %m = dataflow.string_match %text by "[a-z]+" : tensor<3x!dataflow.string> -> tensor<3xi1>
    ```
  }];
  let arguments = (ins Dataflow_StringTensor:$input, StrAttr:$pattern);
  let results = (outs Dataflow_BoolTensor:$result);
  let assemblyFormat = "$input `by` $pattern attr-dict `:` type($input) `->` type($result)";
}

def StringToNumberOp : Dataflow_StringOp<"string_to_number", [AllShapesMatch<["input", "result"]>]> {
  let summary = "The number that a text has in decimal notation, element-wise";
  let description = [{
    The text is plain ("3.14") or scientific ("1e-5"), or `inf`, `infinity` or `nan` in any
    case. White space around the number is ignored. Floats beyond the range of the type
    become infinities. For an integer type, the fraction of the number is removed. A text
    that is not a number is an error, as is a number beyond the range of an integer type.

    Example:

    ```mlir
    %n = dataflow.string_to_number %text : tensor<3x!dataflow.string> -> tensor<3xf32>
    ```
  }];
  let arguments = (ins Dataflow_StringTensor:$input);
  let results = (outs RankedTensorOf<[F32, F64, I64, UI64]>:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def StringFromNumberOp : Dataflow_StringOp<"string_from_number", [AllShapesMatch<["input", "result"]>]> {
  let summary = "The text of a number, element-wise";
  let description = [{
    Integers are written in decimal. Floats have the fewest digits from which the same
    number is read back. They are scientific from 1e8 on and below 1e-4, as with `%g` in C.
    Special values are `NaN`, `INF` and `-INF`.

    Example:

    ```mlir
    %text = dataflow.string_from_number %n : tensor<3xf32> -> tensor<3x!dataflow.string>
    ```
  }];
  let arguments = (ins RankedTensorOf<[F32, F64, I64, UI64]>:$input);
  let results = (outs Dataflow_StringTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def CheckOp : Dataflow_StringOp<"check", [AllTypesMatch<["input", "result"]>, HostFunction, FailsOnData]> {
  let summary = "The input, if all its elements are true; otherwise the step fails with the message";
  let description = [{
    Example:

    ```mlir
    %c = dataflow.check %m or "not a word" : tensor<3xi1>
    ```
  }];
  let arguments = (ins Dataflow_BoolTensor:$input, StrAttr:$message);
  let results = (outs Dataflow_BoolTensor:$result);
  let assemblyFormat = "$input `or` $message attr-dict `:` type($result)";
}

def Dataflow_PixelFormat : Dataflow_Enum<"PixelFormat", [Case<"rgb", 0>, Case<"bgr", 1>, Case<"grayscale", 2>]>;
def Dataflow_PixelFormatAttr : Dataflow_EnumAttr<Dataflow_PixelFormat, "pixel_format">;

def DecodeImageOp : Dataflow_StringOp<"decode_image", [HostFunction, FailsOnData]> {
  let summary = "The pixels [height, width, channels] of an encoded image";
  let description = [{
    The image is JPEG, JPEG 2000, PNG, WebP, TIFF, BMP or a portable pixmap. Its first bytes
    determine the format. An image is an error if its extents differ from those of the
    result, or if it is corrupt.

    Example:

    ```mlir
    %pixels = dataflow.decode_image bgr %bytes : tensor<9xui8> -> tensor<4x4x3xui8>
    ```
  }];
  let arguments = (ins Dataflow_PixelFormatAttr:$format, RankedTensorOf<[UI8]>:$input);
  let results = (outs RankedTensorOf<[UI8]>:$result);
  let assemblyFormat = "$format $input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

#endif // SLUICE_DATAFLOW_STRINGOPS
