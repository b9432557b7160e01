// The L2 cache: slices in partitions. Every line has a home slice (by address), next to its DRAM channel. An SM asks the slice of its own
// partition: when that is not the home, the slice keeps read-only copies and forwards the rest over the link between partitions. This is
// what the H200 shows: one SM sees half the capacity at full speed, all SMs together three quarters (chase.csv, dram_l2_bandwidth.csv;
// docs/model/memory.md).
#pragma once

#include <cstdint>
#include <vector>

#include "base/config.h"
#include "mem/address_map.h"
#include "mem/pool.h"
#include "mem/sector_cache.h"
#include "mem/time.h"

namespace ws {

// A request at L2. `at`: when it is where it is now, exactly (events are rounded to cycles).
struct L2Job {
  MemRequest request;
  Tick at;
  uint32_t slice;   // where it is, or goes
  uint32_t origin;  // slice of the SM's own partition
  uint32_t slot;    // of a load over the link: where `origin` waits for it
  uint32_t next;    // list of those that wait for a line
  uint8_t need;     // sectors still missing
  bool from_peer;   // came over the link; a copy for `origin` when it is a load
  bool counted;     // in the statistics already
};

enum class L2Event : uint8_t { Arrive, PeerFill };  // a job reaches a slice; a copy comes back over the link

// What L2 needs from its surroundings.
struct L2Client {
  virtual ~L2Client() = default;
  virtual void later(Tick at, L2Event event, uint32_t job) = 0;  // call L2::handle(event, job) then
  virtual void respond(const MemRequest& request, Tick at) = 0;  // data or acknowledgement leaves the slice
  virtual void dram_read(uint64_t line, uint8_t sectors, uint32_t slice, uint32_t slot, Tick at) = 0;  // answered by L2::fill()
  virtual void dram_write(uint64_t line, uint8_t sectors, Tick at) = 0;
};

class L2 {
 public:
  L2(const Config& config, CounterRegistry& counters, const Topology& topology, const AddressMap& map, L2Client& client);

  uint32_t admit(const MemRequest& request, Tick at);  // a job for the SM's slice, handled when the caller posts L2Event::Arrive for it
  L2Job& job(uint32_t index) { return jobs_[index]; }
  void handle(L2Event event, uint32_t job);
  void fill(uint32_t slice, uint32_t slot, uint8_t sectors, Tick at);  // data has come; a slot that waits keeps its line
  void flush();
  void reset();

  // Hints to the host's caches, for an event that will be handled soon: first the job, later what the job needs.
  void prefetch(uint32_t job) const { jobs_.prefetch(job); }
  void prefetch_job(L2Event event, uint32_t job) const;
  void prefetch_slot(uint32_t slice, uint32_t slot) const { slices_[slice].cache.prefetch_slot(slot); }

 private:
  struct BySource {
    uint64_t sectors = 0, hits = 0, misses = 0;
  };
  struct Slice {
    explicit Slice(const Config& config, uint64_t bytes);
    SectorCache cache;
    Server tags, data;
    uint64_t requests = 0, sectors = 0, by_op[6] = {}, hits = 0, misses = 0, retries = 0, evictions = 0, writebacks = 0;
    BySource sm, peer;
  };

  bool at_home(const L2Job& job) const { return job.slice / map_.slices() == map_.partition(job.request.line); }
  uint32_t slice_in(uint32_t partition, uint64_t line) const { return partition * map_.slices() + map_.slice(line); }
  void arrive(uint32_t index);
  void load(uint32_t index, Tick start);
  void store(uint32_t index, Tick start);
  void atomic(uint32_t index, Tick start);
  void execute_atomic(uint32_t index, Tick start, uint32_t slot);
  void served(uint32_t index, Tick start, Tick latency);
  void wait_for(uint32_t index, uint32_t slot, uint8_t missing, Tick start);
  uint32_t slot_for(uint64_t line, uint32_t slice, Tick at);
  void forward(uint32_t index, Tick at, uint32_t payload);
  void acknowledge(uint32_t index, Tick at, uint32_t payload);
  void drop_copies(uint64_t line, uint32_t except_partition);
  void count_lookup(L2Job& job, uint8_t hit);
  void retry(uint32_t index, Tick at);

  const AddressMap& map_;
  L2Client& client_;
  Clock clock_;
  Tick partial_write_time_, tag_latency_, hit_latency_, copy_latency_, atomic_latency_, link_latency_;
  Width read_port_, write_port_, link_;
  std::vector<uint32_t> partition_of_sm_;
  std::vector<Slice> slices_;
  std::vector<Server> links_;  // out of each partition
  Pool<L2Job> jobs_;
};

}  // namespace ws
