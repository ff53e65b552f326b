/** Watch framing: many events in one body. */
export {
  DEFAULT_MAX_WATCH_EVENT_BYTES,
  encodeJsonLine,
  encodeLengthDelimited,
  type FrameDecoder,
  JsonLineDecoder,
  LengthDelimitedDecoder,
  WatchFrameError,
  type WatchFrameErrorCode,
} from './frames.ts'
