/** Whether a folder is on a disk of this machine, which no other machine can use at the same time. */
import { statfsSync } from 'node:fs'

/** As statfs(2) numbers them. What is not listed, such as NFS, CIFS, Ceph, 9p and FUSE, may be shared between machines. */
const localFileSystems: ReadonlySet<number> = new Set([
  0xef53, // ext2, ext3, ext4
  0x58465342, // XFS
  0x9123683e, // Btrfs
  0x2fc12fc1, // ZFS
  0xf2f52010, // F2FS
  0xca451a4e, // bcachefs
  0x24051905, // UBIFS
  0x72b6, // JFFS2
  0x01021994, // tmpfs
  0x858458f6, // ramfs
  0x794c7630, // overlayfs, whose writable layer cannot be on a network
])

export function isLocalFolder(path: string): boolean {
  try {
    return localFileSystems.has(statfsSync(path).type >>> 0)
  } catch {
    return false
  }
}
