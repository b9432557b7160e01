"""Names the PTX language fixes: state spaces, fundamental types with their sizes, special registers."""

from __future__ import annotations

# Fundamental types (PTX ISA 5.2.1) and opaque ones (5.3, a 64-bit handle stands for each) with their size in bytes; "pred" has none.
MEMORY_BYTES = {f"{kind}{bits}": bits // 8 for kind in "sub" for bits in (8, 16, 32, 64)}
MEMORY_BYTES |= {"b128": 16, "f16": 2, "f16x2": 4, "f32": 4, "f64": 8, "pred": 0, "texref": 8, "samplerref": 8, "surfref": 8}

OPAQUE_TYPES = ("texref", "samplerref", "surfref")

DATA_SPACES = ("global", "const", "shared", "local", "param")
LINKAGE = ("visible", "extern", "weak", "common")
DECLARATION_WORDS = (*LINKAGE, *DATA_SPACES, "tex", "align")  # a variable's declaration begins with one of them
VECTOR_SIZES = {"v2": 2, "v4": 4}

# Special registers (PTX ISA chapter 10). Those with components are read as %tid.x or whole, by a vector mov.
_VECTOR_SPECIALS = "tid ntid ctaid nctaid clusterid nclusterid cluster_ctaid cluster_nctaid"
_SCALAR_SPECIALS = """laneid warpid nwarpid smid nsmid gridid is_explicit_cluster cluster_ctarank cluster_nctarank
    lanemask_eq lanemask_le lanemask_lt lanemask_ge lanemask_gt clock clock_hi clock64 globaltimer globaltimer_lo globaltimer_hi
    reserved_smem_offset_begin reserved_smem_offset_end reserved_smem_offset_cap reserved_smem_offset_0 reserved_smem_offset_1
    total_smem_size aggr_smem_size dynamic_smem_size current_graph_exec"""
_NUMBERED_SPECIALS = [f"pm{i}" for i in range(8)] + [f"pm{i}_64" for i in range(8)] + [f"envreg{i}" for i in range(32)]
VECTOR_SPECIALS = frozenset("%" + name for name in _VECTOR_SPECIALS.split())
SPECIALS = VECTOR_SPECIALS | frozenset("%" + name for name in [*_SCALAR_SPECIALS.split(), *_NUMBERED_SPECIALS])
