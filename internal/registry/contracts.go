package registry

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
)

const (
	// chunkBytes is well below etcd's 1.5 MiB for a request.
	chunkBytes = 1 << 20
	// MaxContractBytes bounds an uncompressed contract, so that reading one back cannot exhaust memory.
	MaxContractBytes = 64 << 20
	// maxChunks bounds the guards of the manifest's transaction.
	maxChunks = 100
)

// Digest gives the digest of a contract: the SHA-256 of its uncompressed, deterministic bytes, in hexadecimal.
func Digest(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// PutContract stores a contract under its digest; storing it again is no error. raw is the deterministic,
// uncompressed serialisation of a FileDescriptorSet.
func (s *Store) PutContract(ctx context.Context, raw []byte) (digest string, err error) {
	digest = Digest(raw)
	if err := s.putContract(ctx, digest, raw); err != nil {
		return "", fmt.Errorf("store contract %.12s: %w", digest, err)
	}
	return digest, nil
}

func (s *Store) putContract(ctx context.Context, digest string, raw []byte) error {
	if len(raw) > MaxContractBytes {
		return fmt.Errorf("it has %d bytes: at most %d are allowed", len(raw), MaxContractBytes)
	}
	manifest := s.l.manifest(digest)
	packed, err := compress(raw)
	if err != nil {
		return err
	}
	var chunks []string
	for rest := packed; len(rest) > 0; rest = rest[min(len(rest), chunkBytes):] {
		chunks = append(chunks, string(rest[:min(len(rest), chunkBytes)]))
	}
	if len(chunks) > maxChunks {
		return fmt.Errorf("it has %d bytes compressed: at most %d are allowed", len(packed), maxChunks*chunkBytes)
	}
	value, err := encode(&registryv1.StoredContract{Digest: digest, Chunks: int32(len(chunks)), Size: int64(len(raw))})
	if err != nil {
		return err
	}
	return retry(ctx, func() (bool, error) {
		r, err := s.c.Get(ctx, manifest, clientv3.WithCountOnly())
		if err != nil || r.Count > 0 {
			return err == nil, err
		}
		// Another writer's compressor may cut the same contract into other bytes. A manifest is therefore written
		// only over chunks that are all still the ones written here, and chunks never under a manifest.
		guards := []clientv3.Cmp{absent(manifest)}
		for n, chunk := range chunks {
			key := s.l.chunk(digest, n)
			// What another writer has put there already serves as well, so that writers of the same contract help
			// each other instead of undoing each other's work.
			r, err := s.c.Get(ctx, key)
			if err != nil {
				return false, err
			}
			if len(r.Kvs) == 1 && string(r.Kvs[0].Value) == chunk {
				guards = append(guards, clientv3.Compare(clientv3.ModRevision(key), "=", r.Kvs[0].ModRevision))
				continue
			}
			w, err := s.c.Txn(ctx).If(absent(manifest)).Then(clientv3.OpPut(key, chunk)).Commit()
			if err != nil || !w.Succeeded {
				return false, err
			}
			guards = append(guards, clientv3.Compare(clientv3.ModRevision(key), "=", w.Header.Revision))
		}
		w, err := s.c.Txn(ctx).If(guards...).Then(clientv3.OpPut(manifest, value)).Commit()
		if err != nil {
			return false, err
		}
		return w.Succeeded, nil
	})
}

// RawContract reads a contract's bytes and proves them against the digest. An unknown digest is [ErrNotFound].
func (s *Store) RawContract(ctx context.Context, digest string) ([]byte, error) {
	raw, err := s.rawContract(ctx, digest)
	if err != nil {
		return nil, fmt.Errorf("read contract %.12s: %w", digest, err)
	}
	return raw, nil
}

func (s *Store) rawContract(ctx context.Context, digest string) ([]byte, error) {
	var m registryv1.StoredContract
	found, _, err := read(ctx, s, s.l.manifest(digest), &m)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, ErrNotFound
	}
	if m.GetSize() > MaxContractBytes || m.GetChunks() > maxChunks {
		return nil, fmt.Errorf("the manifest says %d bytes in %d chunks, which is more than is ever stored",
			m.GetSize(), m.GetChunks())
	}
	var packed bytes.Buffer
	for n := range int(m.GetChunks()) {
		r, err := s.c.Get(ctx, s.l.chunk(digest, n))
		if err != nil {
			return nil, err
		}
		if len(r.Kvs) == 0 {
			return nil, fmt.Errorf("chunk %d of %d is missing", n, m.GetChunks())
		}
		packed.Write(r.Kvs[0].Value)
	}
	z, err := gzip.NewReader(&packed)
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	raw, err := io.ReadAll(io.LimitReader(z, m.GetSize()+1))
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	if Digest(raw) != digest {
		return nil, errors.New("the stored bytes are not the ones that were digested")
	}
	return raw, nil
}

// Contract reads a contract, proven against its digest. Options are resolved against the linked types. An unknown
// digest is [ErrNotFound]. The result is the caller's.
func (s *Store) Contract(ctx context.Context, digest string) (*descriptorpb.FileDescriptorSet, error) {
	raw, err := s.RawContract(ctx, digest)
	if err != nil {
		return nil, err
	}
	set := new(descriptorpb.FileDescriptorSet)
	if err := proto.Unmarshal(raw, set); err != nil {
		return nil, fmt.Errorf("read contract %.12s: %w", digest, err)
	}
	return set, nil
}

func compress(raw []byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(raw); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
