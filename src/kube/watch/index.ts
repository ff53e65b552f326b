/** Watch framing: many events in one body. */
export {
  defaultMaxWatchEventBytes,
  encodeJsonLine,
  encodeLengthDelimited,
  type FrameDecoder,
  JsonLineDecoder,
  LengthDelimitedDecoder,
  WatchFrameError,
  type WatchFrameErrorCode,
} from './frames.ts'
