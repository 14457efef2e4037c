package catalog

import (
	"hash/maphash"
	"maps"
	"slices"
)

// shards is into how many maps an index is cut, so that a change copies a small part of it.
const shards = 1024

// index finds tools by their hashes. It is immutable: a change makes a new index, which shares the shards that did
// not change.
//
// Two functions may hash alike. The registry refuses the second; should both be stored all the same, neither is
// preferred: both are gone from the index until one of them goes.
type index struct {
	seed       maphash.Seed
	shards     [shards]map[string]*Entry
	collisions map[string][]*Entry
}

func newIndex() *index { return &index{seed: maphash.MakeSeed()} }

// get gives the one tool with the hash, or nil.
func (x *index) get(name string) *Entry { return x.shards[x.shard(name)][name] }

func (x *index) shard(name string) uint64 { return maphash.String(x.seed, name) % shards }

// replace gives an index without the tools that are gone and with those that have come.
func (x *index) replace(gone, come []*Entry) *index {
	n := *x
	n.collisions = maps.Clone(x.collisions)
	owned := map[uint64]bool{}
	own := func(name string) map[string]*Entry {
		at := n.shard(name)
		if !owned[at] {
			owned[at] = true
			if n.shards[at] = maps.Clone(n.shards[at]); n.shards[at] == nil {
				n.shards[at] = map[string]*Entry{}
			}
		}
		return n.shards[at]
	}
	for _, e := range gone {
		name := e.Tool.Name
		shard := own(name)
		others, collides := n.collisions[name]
		if !collides {
			delete(shard, name)
			continue
		}
		others = slices.DeleteFunc(slices.Clone(others), func(o *Entry) bool { return o == e })
		n.collisions[name] = others
		if len(others) < 2 {
			delete(n.collisions, name)
		}
		if len(others) == 1 {
			shard[name] = others[0]
		}
	}
	for _, e := range come {
		name := e.Tool.Name
		shard := own(name)
		others, collides := n.collisions[name]
		if first := shard[name]; first != nil {
			others, collides = []*Entry{first}, true
			delete(shard, name)
		}
		if !collides {
			shard[name] = e
			continue
		}
		if n.collisions == nil {
			n.collisions = map[string][]*Entry{}
		}
		n.collisions[name] = append(slices.Clone(others), e)
	}
	return &n
}
