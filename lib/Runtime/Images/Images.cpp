//===- Images.cpp - libsluice_images --------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Images.h"

#include "../HostFunctions.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>
#include <string_view>

namespace sluice::images {

namespace {

struct Format {
  const char *name;
  size_t offset; ///< Of the bytes that say so.
  std::string_view mark;
  void (*decode)(Bytes, Image &);
};

using namespace std::string_view_literals;

constexpr Format kFormats[] = {
    {"JPEG", 0, "\xff\xd8\xff"sv, decodeJpeg},
    {"PNG", 0, "\x89PNG\r\n\x1a\n"sv, decodePng},
    {"WebP", 8, "WEBP"sv, decodeWebp},
    {"TIFF", 0, "II*\0"sv, decodeTiff},
    {"TIFF", 0, "MM\0*"sv, decodeTiff},
    {"JPEG 2000", 0, "\0\0\0\x0cjP  \r\n\x87\n"sv, decodeJpeg2000},
    {"JPEG 2000", 0, "\xff\x4f\xff\x51"sv, decodeJpeg2000},
    {"BMP", 0, "BM"sv, decodeBmp},
    {"PNM", 0, "P1"sv, decodePnm},
    {"PNM", 0, "P2"sv, decodePnm},
    {"PNM", 0, "P3"sv, decodePnm},
    {"PNM", 0, "P4"sv, decodePnm},
    {"PNM", 0, "P5"sv, decodePnm},
    {"PNM", 0, "P6"sv, decodePnm},
};

const Format *formatOf(Bytes bytes) {
  for (const Format &format : kFormats)
    if (bytes.size() >= format.offset + format.mark.size() &&
        std::memcmp(bytes.data() + format.offset, format.mark.data(), format.mark.size()) == 0)
      return &format;
  return nullptr;
}

enum class PixelFormat : uint32_t { Rgb, Bgr, Grayscale };

/// ITU-R 601's luma of 16-bit fixed point, as Pillow's: ONNX's reference converts by it.
uint8_t luma(const uint8_t *pixel) {
  return static_cast<uint8_t>((pixel[0] * 19595U + pixel[1] * 38470U + pixel[2] * 7471U + 0x8000U) >> 16);
}

void write(const Image &image, PixelFormat format, uint8_t *to) {
  for (size_t i = 0; i < image.pixels.size(); i += 3) {
    const uint8_t *pixel = &image.pixels[i];
    if (format == PixelFormat::Grayscale)
      *to++ = luma(pixel);
    else if (format == PixelFormat::Bgr)
      to = std::reverse_copy(pixel, pixel + 3, to);
    else
      to = std::copy(pixel, pixel + 3, to);
  }
}

} // namespace

} // namespace sluice::images

int32_t sluice_image_decode(const sluice_encoded_image *encoded, uint8_t *pixels, char *error, int64_t capacity) {
  using namespace sluice::images;
  const char *name = "encoded";
  auto fail = [&](const char *why) {
    std::snprintf(error, static_cast<size_t>(capacity), "the %s image cannot be decoded because %s, give another image",
                  name, why);
    return 1;
  };
  try {
    const auto size = static_cast<size_t>(std::max<int64_t>(encoded->bytes, 0));
    const Bytes source(static_cast<const uint8_t *>(encoded->data), size);
    const Format *found = formatOf(source);
    if (!found)
      return fail("its format is none of JPEG, JPEG 2000, PNG, WebP, TIFF, BMP and PNM");
    name = found->name;
    Image image{encoded->height, encoded->width};
    found->decode(source, image);
    if (image.pixels.size() != static_cast<size_t>(image.height * image.width) * 3)
      return fail("it holds no pixels");
    write(image, static_cast<PixelFormat>(encoded->format), pixels);
    return 0;
  } catch (const std::bad_alloc &) {
    return fail("there is not enough memory");
  } catch (const std::exception &problem) {
    return fail(problem.what());
  }
}
