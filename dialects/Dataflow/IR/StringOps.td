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

// Neither its operands nor its results are text, and still its kernel calls a function of the host.
def HostFunction : NativeOpTrait<"HostFunction"> {
  let cppNamespace = "::sluice::dataflow";
}

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
    With `whole`, a text of more parts than there is room for is an error.
  }];
  let arguments = (ins Dataflow_StringTensor:$input, StrAttr:$delimiter, UnitAttr:$whole);
  let results = (outs Dataflow_StringTensor:$parts, RankedTensorOf<[I64]>:$counts, RankedTensorOf<[I64]>:$most);
  let assemblyFormat = "$input `at` $delimiter attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def StringMatchOp : Dataflow_StringOp<"string_match", [AllShapesMatch<["input", "result"]>]> {
  let summary = "Element-wise: whether a regular expression matches the whole text";
  let description = "The expression has RE2's syntax and semantics.";
  let arguments = (ins Dataflow_StringTensor:$input, StrAttr:$pattern);
  let results = (outs Dataflow_BoolTensor:$result);
  let assemblyFormat = "$input `by` $pattern attr-dict `:` type($input) `->` type($result)";
}

def StringToNumberOp : Dataflow_StringOp<"string_to_number", [AllShapesMatch<["input", "result"]>]> {
  let summary = "Element-wise: the number that a text writes in decimal";
  let description = [{
    Plain ("3.14") or scientific ("1e-5"); `inf`, `infinity` and `nan` in any case. White
    space around the number does not count. Floats beyond the type's range are
    infinities; an integer is the number without its fraction. A text that is no
    number, or a number that an integer type does not hold, is an error.
  }];
  let arguments = (ins Dataflow_StringTensor:$input);
  let results = (outs RankedTensorOf<[F32, F64, I64, UI64]>:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def StringFromNumberOp : Dataflow_StringOp<"string_from_number", [AllShapesMatch<["input", "result"]>]> {
  let summary = "Element-wise: the text of a number";
  let description = [{
    Integers in decimal; floats with the fewest digits that read back as the same number,
    scientific from 1e8 on and below 1e-4, as C's `%g`; `NaN`, `INF`, `-INF`.
  }];
  let arguments = (ins RankedTensorOf<[F32, F64, I64, UI64]>:$input);
  let results = (outs Dataflow_StringTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def CheckOp : Dataflow_StringOp<"check", [AllTypesMatch<["input", "result"]>, HostFunction]> {
  let summary = "The input, all of whose elements are true: otherwise the step fails with the message";
  let arguments = (ins Dataflow_BoolTensor:$input, StrAttr:$message);
  let results = (outs Dataflow_BoolTensor:$result);
  let assemblyFormat = "$input `or` $message attr-dict `:` type($result)";
}

def Dataflow_PixelFormat : Dataflow_Enum<"PixelFormat", [Case<"rgb", 0>, Case<"bgr", 1>, Case<"grayscale", 2>]>;
def Dataflow_PixelFormatAttr : Dataflow_EnumAttr<Dataflow_PixelFormat, "pixel_format">;

def DecodeImageOp : Dataflow_StringOp<"decode_image", [HostFunction]> {
  let summary = "The pixels [height, width, channels] of an encoded image";
  let description = [{
    The image is JPEG, JPEG 2000, PNG, WebP, TIFF, BMP or a portable pixmap; its first
    bytes say which. An image of other extents than the result's, and one that is
    not sound, is an error.
  }];
  let arguments = (ins Dataflow_PixelFormatAttr:$format, RankedTensorOf<[UI8]>:$input);
  let results = (outs RankedTensorOf<[UI8]>:$result);
  let assemblyFormat = "$format $input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

#endif // SLUICE_DATAFLOW_STRINGOPS
