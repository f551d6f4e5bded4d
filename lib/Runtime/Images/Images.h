//===- Images.h - Decoders of libsluice_images ------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A decoder first reads the extents and refuses those that the model does not declare, before it allocates memory for
// pixels. So no image can make an allocation larger than the result times a small constant, apart from the libraries'
// own bounds.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_IMAGES_IMAGES_H
#define SLUICE_RUNTIME_IMAGES_IMAGES_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace sluice::images {

using Bytes = std::span<const uint8_t>;

/// The bytes are no valid image, or the image has other extents.
struct Unsound : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Pixels with 8 bits each for red, green and blue, row by row from the top left.
struct Image {
  int64_t height, width;
  std::vector<uint8_t> pixels = {};

  /// Throws unless these are the image's extents; then allocates memory for the pixels.
  void start(int64_t actualHeight, int64_t actualWidth) {
    if (actualHeight != height || actualWidth != width)
      throw Unsound("it has " + std::to_string(actualHeight) + " x " + std::to_string(actualWidth) +
                    " pixels and the model declares " + std::to_string(height) + " x " + std::to_string(width));
    pixels.resize(static_cast<size_t>(height * width) * 3);
  }
  uint8_t *at(int64_t row, int64_t column) { return &pixels[static_cast<size_t>(row * width + column) * 3]; }
};

void decodeJpeg(Bytes bytes, Image &image);
void decodeJpeg2000(Bytes bytes, Image &image);
void decodePng(Bytes bytes, Image &image);
void decodeTiff(Bytes bytes, Image &image);
void decodeWebp(Bytes bytes, Image &image);
void decodeBmp(Bytes bytes, Image &image);
/// Portable bit, grey and pixel maps, as text or bytes: P1 to P6.
void decodePnm(Bytes bytes, Image &image);

} // namespace sluice::images

#endif // SLUICE_RUNTIME_IMAGES_IMAGES_H
