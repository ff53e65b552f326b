/** Which resources answer a DELETE with the object that was deleted; all others answer with a Status. */
const answeringWithObject: Readonly<Record<string, readonly string[]>> = {
  '': [
    'persistentvolumeclaims',
    'persistentvolumes',
    'pods',
    'podtemplates',
    'resourcequotas',
    'serviceaccounts',
    'services',
  ],
  'resource.k8s.io': [
    'deviceclasses',
    'devicetaintrules',
    'resourceclaims',
    'resourceclaimtemplates',
    'resourcepoolstatusrequests',
    'resourceslices',
  ],
  'storage.k8s.io': ['csidrivers', 'csinodes', 'storageclasses', 'volumeattachments', 'volumeattributesclasses'],
}

export function deleteAnswersWithObject(group: string, resource: string): boolean {
  return Object.hasOwn(answeringWithObject, group) && answeringWithObject[group]?.includes(resource) === true
}
