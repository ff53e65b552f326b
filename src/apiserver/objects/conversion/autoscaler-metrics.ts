/**
 * Single metrics of an autoscaler between v1 and v2. In v1 name, selector and amounts lie side by side; v2 groups them
 * into `metric` and `target` or `current`. v1 has amounts that cannot be absent and are then zero.
 */

import { filledFields } from '../../../kube/present-fields.ts'
import { type Fields, has, struct, text } from '../../kinds/fields.ts'
import { quantityInNano } from '../../kinds/quantities.ts'

/** The one member of a metric that its type calls for, or several: a converter does not judge. */
const sources = ['object', 'pods', 'resource', 'containerResource', 'external'] as const
type Source = (typeof sources)[number]
type Convert = Readonly<Record<Source, (source: Fields) => Fields>>

export function metricSpecToV1(metric: Fields): Fields {
  return convertSources(metric, specToV1)
}

export function metricSpecToV2(metric: Fields): Fields {
  return convertSources(metric, specToV2)
}

export function metricStatusToV1(metric: Fields): Fields {
  return convertSources(metric, statusToV1)
}

export function metricStatusToV2(metric: Fields): Fields {
  return convertSources(metric, statusToV2)
}

function convertSources(metric: Fields, convert: Convert): Fields {
  const converted = sources.map((name): [string, Fields | undefined] => {
    const source = struct(metric, name)
    return [name, source && convert[name](source)]
  })
  return filledFields({ type: metric['type'], ...Object.fromEntries(converted) })
}

const part = (source: Fields, name: string): Fields => struct(source, name) ?? {}
const metricOf = (name: unknown, selector: unknown): Fields => filledFields({ name, selector })

const specToV1: Convert = {
  object: (source) => {
    const [metric, target] = [part(source, 'metric'), part(source, 'target')]
    return filledFields({
      target: source['describedObject'],
      metricName: metric['name'],
      targetValue: target['value'],
      selector: metric['selector'],
      averageValue: target['averageValue'],
    })
  },
  pods: (source) => {
    const metric = part(source, 'metric')
    const targetAverageValue = part(source, 'target')['averageValue']
    return filledFields({ metricName: metric['name'], targetAverageValue, selector: metric['selector'] })
  },
  resource: resourceSpecToV1,
  containerResource: (source) => ({ ...resourceSpecToV1(source), container: source['container'] }),
  external: (source) => {
    const [metric, target] = [part(source, 'metric'), part(source, 'target')]
    return filledFields({
      metricName: metric['name'],
      metricSelector: metric['selector'],
      targetValue: target['value'],
      targetAverageValue: target['averageValue'],
    })
  },
}

function resourceSpecToV1(source: Fields): Fields {
  const { averageUtilization, averageValue } = part(source, 'target')
  const amounts = { targetAverageUtilization: averageUtilization, targetAverageValue: averageValue }
  return filledFields({ name: source['name'], ...amounts })
}

const specToV2: Convert = {
  object: (source) => {
    const isAverage = has(source, 'averageValue')
    // A zero beside an average only says that v1 had to print something.
    const isFiller = isAverage && quantityInNano(text(source, 'targetValue') || '0') === 0n
    return {
      describedObject: source['target'],
      target: filledFields({
        type: isAverage ? 'AverageValue' : 'Value',
        value: isFiller ? undefined : source['targetValue'],
        averageValue: source['averageValue'],
      }),
      metric: metricOf(source['metricName'], source['selector']),
    }
  },
  pods: (source) => ({
    metric: metricOf(source['metricName'], source['selector']),
    target: filledFields({ type: 'AverageValue', averageValue: source['targetAverageValue'] }),
  }),
  resource: resourceSpecToV2,
  containerResource: (source) => ({ ...resourceSpecToV2(source), container: source['container'] }),
  external: (source) => ({
    metric: metricOf(source['metricName'], source['metricSelector']),
    target: filledFields({
      type: has(source, 'targetValue') ? 'Value' : 'AverageValue',
      value: source['targetValue'],
      averageValue: source['targetAverageValue'],
    }),
  }),
}

function resourceSpecToV2(source: Fields): Fields {
  const averageUtilization = source['targetAverageUtilization']
  const type = averageUtilization === undefined ? 'AverageValue' : 'Utilization'
  const target = filledFields({ type, averageValue: source['targetAverageValue'], averageUtilization })
  return { name: source['name'], target }
}

const statusToV1: Convert = {
  object: (source) => {
    const [metric, current] = [part(source, 'metric'), part(source, 'current')]
    return filledFields({
      target: source['describedObject'],
      metricName: metric['name'],
      currentValue: current['value'],
      selector: metric['selector'],
      averageValue: current['averageValue'],
    })
  },
  pods: (source) => {
    const metric = part(source, 'metric')
    const currentAverageValue = part(source, 'current')['averageValue']
    return filledFields({ metricName: metric['name'], currentAverageValue, selector: metric['selector'] })
  },
  resource: resourceStatusToV1,
  containerResource: (source) => ({ ...resourceStatusToV1(source), container: source['container'] }),
  external: (source) => {
    const [metric, current] = [part(source, 'metric'), part(source, 'current')]
    return filledFields({
      metricName: metric['name'],
      metricSelector: metric['selector'],
      currentValue: current['value'],
      currentAverageValue: current['averageValue'],
    })
  },
}

function resourceStatusToV1(source: Fields): Fields {
  const { averageUtilization, averageValue } = part(source, 'current')
  const amounts = { currentAverageUtilization: averageUtilization, currentAverageValue: averageValue }
  return filledFields({ name: source['name'], ...amounts })
}

const statusToV2: Convert = {
  object: (source) => ({
    metric: metricOf(source['metricName'], source['selector']),
    current: filledFields({ value: source['currentValue'], averageValue: source['averageValue'] }),
    describedObject: source['target'],
  }),
  pods: (source) => ({
    metric: metricOf(source['metricName'], source['selector']),
    current: filledFields({ averageValue: source['currentAverageValue'] }),
  }),
  resource: resourceStatusToV2,
  containerResource: (source) => ({ ...resourceStatusToV2(source), container: source['container'] }),
  external: (source) => ({
    metric: metricOf(source['metricName'], source['metricSelector']),
    current: filledFields({ value: source['currentValue'], averageValue: source['currentAverageValue'] }),
  }),
}

function resourceStatusToV2(source: Fields): Fields {
  const averageUtilization = source['currentAverageUtilization']
  return {
    name: source['name'],
    current: filledFields({ averageValue: source['currentAverageValue'], averageUtilization }),
  }
}
