//===- AddressMap.cpp -----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "AddressMap.h"

#include <algorithm>
#include <utility>

using namespace sluice;
using namespace sluice::swap;

AddressMap::AddressMap(int64_t capacityBytes) : capacity(capacityBytes) {
  pieces.push_back({{0, capacity, ResidencyId()}, ExtentId(), ExtentId()});
  byOffset.insert(0, ExtentId(0));
  vacantByOffset.insert(0, ExtentId(0));
}

void AddressMap::list(std::vector<Extent> &extents) const {
  extents.clear();
  for (OffsetIndex::Cursor at = byOffset.floor(0); byOffset.valid(at); at = byOffset.next(at))
    extents.push_back((*this)[byOffset[at].extent]);
}

ExtentId AddressMap::split(ExtentId id, int64_t at) {
  ExtentId upper(pieces.size());
  if (unused.empty()) {
    pieces.emplace_back();
  } else {
    upper = unused.back();
    unused.pop_back();
  }
  Piece &low = pieces[id.index()];
  pieces[upper.index()] = {{at, low.extent.end, low.extent.occupant, low.extent.vacant}, id, low.next};
  if (low.next.valid())
    pieces[low.next.index()].previous = upper;
  low.next = upper;
  low.extent.end = at;
  byOffset.insert(at, upper);
  if (low.extent.vacant)
    vacantByOffset.insert(at, upper);
  return upper;
}

void AddressMap::mergeNext(ExtentId id) {
  Piece &low = pieces[id.index()];
  const ExtentId gone = low.next;
  Piece &high = pieces[gone.index()];
  byOffset.erase(high.extent.offset);
  if (high.extent.vacant)
    vacantByOffset.erase(high.extent.offset);
  low.extent.end = high.extent.end;
  low.next = high.next;
  if (low.next.valid())
    pieces[low.next.index()].previous = id;
  high.extent = Extent(); // No address is in it, so that no hint leads here.
  unused.push_back(gone);
}

void AddressMap::growInto(ExtentId id, int64_t at) {
  Piece &low = pieces[id.index()];
  Piece &high = pieces[low.next.index()];
  byOffset.move(high.extent.offset, at);
  if (high.extent.vacant)
    vacantByOffset.move(high.extent.offset, at);
  low.extent.end = high.extent.offset = at;
}

ExtentId AddressMap::occupy(int64_t offset, int64_t end, ResidencyId occupant, std::vector<ResidencyId> &displaced,
                            ExtentId hint) {
  if (offset == end)
    return {};
  peak = std::max(peak, end);
  ExtentId id = find(offset, hint);
  if ((*this)[id].offset < offset)
    id = split(id, offset);
  auto displace = [&](ExtentId former) {
    if ((*this)[former].occupant.valid())
      displaced.push_back((*this)[former].occupant);
  };
  // An extent that reaches beyond the range keeps what is above it.
  displace(id);
  if ((*this)[id].end > end)
    split(id, end);
  while ((*this)[id].end < end) {
    displace(next(id));
    if ((*this)[next(id)].end > end)
      growInto(id, end);
    else
      mergeNext(id);
  }
  Piece &piece = pieces[id.index()];
  if (std::exchange(piece.extent.vacant, false))
    vacantByOffset.erase(offset);
  piece.extent.occupant = occupant;
  return id;
}

void AddressMap::vacate(ExtentId id) {
  if (std::exchange(pieces[id.index()].extent.vacant, true))
    return;
  vacantByOffset.insert((*this)[id].offset, id);
}
