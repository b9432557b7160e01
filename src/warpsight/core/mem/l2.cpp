#include "mem/l2.h"

namespace ws {
namespace {

constexpr double kRetryClocks = 16;  // a set whose ways all wait for DRAM is tried again after this

bool is_atomic(MemoryOp op) { return op == MemoryOp::Atomic || op == MemoryOp::Reduction; }
uint32_t bytes_of(uint8_t sectors) { return count(sectors) * static_cast<uint32_t>(kSectorBytes); }

}  // namespace

L2::Slice::Slice(const Config& config, uint64_t bytes)
    : cache(bytes, static_cast<uint32_t>(config.u("l2.ways")), config.text("l2.replacement"),
            static_cast<uint32_t>(config.u("l2.partitions"))) {}

L2::L2(const Config& config, CounterRegistry& counters, const Topology& topology, const AddressMap& map, L2Client& client)
    : map_(map),
      client_(client),
      clock_(topology.sm_mhz, config.real("l2.clock_mhz")),
      partial_write_time_(clock_.periods(config.real("l2.partial_write_clocks"))),
      tag_latency_(clock_.periods(config.real("l2.tag_latency"))),
      hit_latency_(clock_.periods(config.real("l2.hit_latency"))),
      copy_latency_(clock_.periods(config.real("l2.copy_latency"))),
      atomic_latency_(clock_.periods(config.real("l2.atomic_latency"))),
      link_latency_(clock_.periods(config.real("l2.link_latency"))),
      read_port_(config, "l2.slice_read_bytes", clock_.period()),
      write_port_(config, "l2.slice_write_bytes", clock_.period()),
      link_(config, "l2.link_bytes", clock_.period()),
      links_(map.partitions()) {
  const uint32_t gpcs = *std::max_element(topology.gpc_of_sm.begin(), topology.gpc_of_sm.end()) + 1u;
  for (uint16_t gpc : topology.gpc_of_sm) partition_of_sm_.push_back(gpc * map.partitions() / gpcs);
  const uint32_t total = map.partitions() * map.slices();
  slices_.reserve(total);
  for (uint32_t i = 0; i < total; ++i) slices_.emplace_back(config, config.u("l2.bytes") / total);
  for (uint32_t i = 0; i < total; ++i) {
    const Slice& s = slices_[i];
    const auto add = [&](const char* name, const uint64_t& value) { counters.add(name, "l2_slice", i, &value); };
    add("lts__t_requests", s.requests), add("lts__t_sectors", s.sectors);
    add("lts__t_sectors_op_read", s.by_op[static_cast<int>(MemoryOp::Load)]);
    add("lts__t_sectors_op_write", s.by_op[static_cast<int>(MemoryOp::Store)]);
    add("lts__t_sectors_op_atom", s.by_op[static_cast<int>(MemoryOp::Atomic)]);
    add("lts__t_sectors_op_red", s.by_op[static_cast<int>(MemoryOp::Reduction)]);
    add("lts__t_sectors_lookup_hit", s.hits), add("lts__t_sectors_lookup_miss", s.misses);
    add("lts__t_sectors_srcunit_tex", s.sm.sectors);
    add("lts__t_sectors_srcunit_tex_lookup_hit", s.sm.hits), add("lts__t_sectors_srcunit_tex_lookup_miss", s.sm.misses);
    add("lts__t_sectors_srcunit_ltcfabric", s.peer.sectors);
    add("lts__tag_busy_ticks", s.tags.busy), add("lts__data_busy_ticks", s.data.busy);
    add("lts__retries", s.retries), add("lts__evictions", s.evictions), add("lts__sectors_written_back", s.writebacks);
  }
  for (uint32_t i = 0; i < links_.size(); ++i) counters.add("lts__link_busy_ticks", "noc", i, &links_[i].busy);
}

uint32_t L2::admit(const MemRequest& request, Tick at) {
  const uint32_t slice = slice_in(partition_of_sm_[request.sm], request.line);
  return jobs_.take({request, at, slice, slice, kNone, kNone, 0, false, false});
}

void L2::handle(L2Event event, uint32_t index) {
  if (event == L2Event::Arrive) return arrive(index);
  const L2Job job = jobs_[index];
  jobs_.release(index);
  fill(job.origin, job.slot, job.request.sectors, job.at);
}

void L2::arrive(uint32_t index) {
  const L2Job& job = jobs_[index];
  const Tick start = slices_[job.slice].tags.take(clock_.edge(job.at), clock_.period());
  if (job.request.op == MemoryOp::Store)
    store(index, start);
  else if (is_atomic(job.request.op))
    atomic(index, start);
  else
    load(index, start);
}

void L2::prefetch_job(L2Event event, uint32_t index) const {
  const L2Job& job = jobs_[index];
  if (event == L2Event::Arrive)
    slices_[job.slice].cache.prefetch(map_.number_in_slice(job.request.line));
  else
    slices_[job.origin].cache.prefetch_slot(job.slot);
}

void L2::count_lookup(L2Job& job, uint8_t hit) {
  if (job.counted) return;
  job.counted = true;
  Slice& slice = slices_[job.slice];
  const uint32_t n = count(job.request.sectors), hits = count(hit);
  ++slice.requests;
  slice.sectors += n;
  slice.by_op[static_cast<int>(job.request.op)] += n;
  slice.hits += hits, slice.misses += n - hits;
  if (!job.from_peer && job.request.source != MemSource::L1) return;
  BySource& source = job.from_peer ? slice.peer : slice.sm;
  source.sectors += n, source.hits += hits, source.misses += n - hits;
}

void L2::load(uint32_t index, Tick start) {
  L2Job& job = jobs_[index];
  SectorCache& cache = slices_[job.slice].cache;
  uint32_t slot = cache.find(map_.number_in_slice(job.request.line));
  const uint8_t hit = slot == kNone ? 0 : job.request.sectors & cache.state(slot).valid;
  if (hit == job.request.sectors) {
    count_lookup(job, hit);
    cache.touch(slot);
    return served(index, start, hit_latency_ + (at_home(job) ? 0 : copy_latency_));
  }
  if (slot == kNone) slot = slot_for(job.request.line, job.slice, start);
  if (slot == kNone) return retry(index, start);
  count_lookup(job, hit);
  wait_for(index, slot, job.request.sectors & static_cast<uint8_t>(~hit), start);
}

// All sectors are there: takes the data port at `start` or when it is free, and `latency` later sends them where they go. The job ends
// here. (The port is taken before the latency so that those with less of it do not wait for those with more.)
void L2::served(uint32_t index, Tick start, Tick latency) {
  L2Job& job = jobs_[index];
  Slice& slice = slices_[job.slice];
  const uint32_t bytes = bytes_of(job.request.sectors);
  const Tick out = slice.data.take(start, read_port_.time(bytes)) + latency;
  if (job.from_peer) {
    const uint32_t home = job.slice / map_.slices();
    job.at = links_[home].take(out, link_.time(bytes)) + link_latency_;
    return client_.later(job.at, L2Event::PeerFill, index);
  }
  if (job.request.op != MemoryOp::Prefetch) client_.respond(job.request, out);
  jobs_.release(index);
}

// The job waits in the line's list; asks for what nobody has asked for yet.
void L2::wait_for(uint32_t index, uint32_t slot, uint8_t missing, Tick start) {
  L2Job& job = jobs_[index];
  LineState& state = slices_[job.slice].cache.state(slot);
  const bool home = at_home(job);
  const uint8_t on_its_way =
      home ? halves_of(state.pending) : state.pending;  // an access of DRAM brings what it is asked for until it is there
  const uint8_t ask = missing & static_cast<uint8_t>(~on_its_way);
  state.pending |= missing;
  job.need = missing;
  job.next = state.waiters;
  state.waiters = index;
  if (!ask) return;
  if (home) {
    client_.dram_read(job.request.line, ask, job.slice, slot, start + tag_latency_);
  } else {
    L2Job peer = job;
    peer.request.op = MemoryOp::Load;
    peer.request.sectors = ask;
    peer.slot = slot;
    forward(jobs_.take(peer), start + tag_latency_, 0);
  }
}

void L2::fill(uint32_t slice, uint32_t slot, uint8_t sectors, Tick at) {
  LineState& state = slices_[slice].cache.state(slot);
  // DRAM brings 64 bytes and L2 keeps all of them: kernels that come back for the neighbouring sector do not read it again
  // (dram__bytes_read of spmv_scalar_16K and bfs_16K_4levels in ncu_cold.csv).
  state.pending &= static_cast<uint8_t>(~sectors);
  state.valid |= sectors;
  state.partial &= static_cast<uint8_t>(~sectors);
  uint32_t waiting = state.waiters, keep = kNone, ready = kNone;
  while (waiting != kNone) {  // the list is latest first; `ready` comes out earliest first
    L2Job& job = jobs_[waiting];
    const uint32_t next = job.next;
    job.need &= static_cast<uint8_t>(~sectors);
    uint32_t& list = job.need ? keep : ready;
    job.next = list;
    list = waiting;
    waiting = next;
  }
  uint32_t list = kNone;
  while (keep != kNone) {  // back to latest first
    const uint32_t next = jobs_[keep].next;
    jobs_[keep].next = list;
    list = keep;
    keep = next;
  }
  state.waiters = list;
  while (ready != kNone) {
    const uint32_t next = jobs_[ready].next;
    if (is_atomic(jobs_[ready].request.op))
      execute_atomic(ready, at, slot);
    else
      served(ready, at, 0);
    ready = next;
  }
}

void L2::store(uint32_t index, Tick start) {
  L2Job& job = jobs_[index];
  Slice& slice = slices_[job.slice];
  const MemRequest& request = job.request;
  const bool whole = request.full_sectors == request.sectors;
  const Tick service = whole ? write_port_.time(bytes_of(request.sectors)) : partial_write_time_;
  if (!at_home(job)) {
    count_lookup(job, request.sectors);
    return forward(index, slice.data.take(start, service) + tag_latency_, bytes_of(request.sectors));
  }
  uint32_t slot = slice.cache.find(map_.number_in_slice(request.line));
  if (slot == kNone) slot = slot_for(request.line, job.slice, start);
  if (slot == kNone) return retry(index, start);
  count_lookup(job, request.sectors);
  slice.cache.touch(slot);
  LineState& state = slice.cache.state(slot);
  state.dirty |= request.sectors;
  state.valid |= request.full_sectors;
  state.partial = (state.partial | request.sectors) & static_cast<uint8_t>(~state.valid);
  drop_copies(request.line, job.origin / map_.slices());
  acknowledge(index, slice.data.take(start, service) + tag_latency_, 0);
}

void L2::atomic(uint32_t index, Tick start) {
  L2Job& job = jobs_[index];
  SectorCache& cache = slices_[job.slice].cache;
  uint32_t slot = cache.find(map_.number_in_slice(job.request.line));
  if (!at_home(job)) {
    count_lookup(job, job.request.sectors);
    if (slot != kNone && !cache.state(slot).pending) cache.drop(slot);
    return forward(index, start + tag_latency_, bytes_of(job.request.sectors));
  }
  if (slot == kNone) slot = slot_for(job.request.line, job.slice, start);
  if (slot == kNone) return retry(index, start);
  const uint8_t hit = job.request.sectors & cache.state(slot).valid;
  count_lookup(job, hit);
  if (hit == job.request.sectors)
    execute_atomic(index, start, slot);
  else
    wait_for(index, slot, job.request.sectors & static_cast<uint8_t>(~hit), start);
}

// Operations on one word take turns, one an L2 clock; different words of a sector are done together. Source: atomics.csv (132 SMs on one
// word: 0.86 lane operations an SM clock; 132 SMs on one line: 2.5 cycles for 32 words).
void L2::execute_atomic(uint32_t index, Tick start, uint32_t slot) {
  L2Job& job = jobs_[index];
  Slice& slice = slices_[job.slice];
  slice.cache.touch(slot);
  slice.cache.state(slot).dirty |= job.request.sectors;
  drop_copies(job.request.line, map_.partition(job.request.line));
  const Tick service = std::max(read_port_.time(bytes_of(job.request.sectors)), job.request.atomic_conflict * clock_.period());
  const Tick done = slice.data.take(start, service) + service + hit_latency_ + atomic_latency_;
  acknowledge(index, done, job.request.op == MemoryOp::Atomic ? bytes_of(job.request.sectors) : 0);
}

// Over the link to the line's home.
void L2::forward(uint32_t index, Tick at, uint32_t payload) {
  L2Job& job = jobs_[index];
  const uint32_t from = job.slice / map_.slices();
  job.slice = slice_in(map_.partition(job.request.line), job.request.line);
  job.from_peer = true;
  job.counted = false;
  job.at = links_[from].take(at, link_.time(payload)) + link_latency_;
  client_.later(job.at, L2Event::Arrive, index);
}

// The answer of a store or atomic, over the link when that is where the job came from. The job ends here.
void L2::acknowledge(uint32_t index, Tick at, uint32_t payload) {
  const L2Job& job = jobs_[index];
  if (job.from_peer) at = links_[job.slice / map_.slices()].take(at, link_.time(payload)) + link_latency_;
  client_.respond(job.request, at);
  jobs_.release(index);
}

// Copies of the line in partitions that are not its home, but for the one whose slice saw the write itself.
void L2::drop_copies(uint64_t line, uint32_t except_partition) {
  const uint32_t home = map_.partition(line);
  for (uint32_t partition = 0; partition < map_.partitions(); ++partition) {
    if (partition == home || partition == except_partition) continue;
    SectorCache& cache = slices_[slice_in(partition, line)].cache;
    const uint32_t slot = cache.find(map_.number_in_slice(line));
    if (slot != kNone && !cache.state(slot).pending) cache.drop(slot);
  }
}

// Makes room for the line. kNone: every way of its set waits for data.
uint32_t L2::slot_for(uint64_t line, uint32_t slice_index, Tick at) {
  Slice& slice = slices_[slice_index];
  const uint64_t number = map_.number_in_slice(line);
  const uint32_t slot = slice.cache.choose(number);
  if (slot == kNone) return kNone;
  const LineState& old = slice.cache.state(slot);
  if (old.line != kNoLine) {
    ++slice.evictions;
    if (old.dirty) {
      slice.writebacks += count(old.dirty);
      client_.dram_write(old.line, old.dirty, at + tag_latency_);
    }
  }
  slice.cache.insert(slot, number, line);
  return slot;
}

void L2::retry(uint32_t index, Tick at) {
  L2Job& job = jobs_[index];
  ++slices_[job.slice].retries;
  job.at = at + clock_.periods(kRetryClocks);
  client_.later(job.at, L2Event::Arrive, index);
}

void L2::flush() {
  for (Slice& slice : slices_) slice.cache.clear();
}

void L2::reset() {
  jobs_.clear();
  for (Server& link : links_) link.free = 0;
  for (Slice& slice : slices_) {
    slice.tags.free = slice.data.free = 0;
    for (uint32_t slot = 0; slot < slice.cache.slots(); ++slot) {
      LineState& state = slice.cache.state(slot);
      state.pending = 0;
      state.waiters = kNone;
    }
  }
}

}  // namespace ws
