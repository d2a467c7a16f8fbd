{{/*
The objects of one of the files that `mainstay render` prints too, for the namespace of this release, under "items".
*/}}
{{- define "mainstay.objects" -}}
{{- $text := .root.Files.Get .path | replace "mainstay-system" .root.Release.Namespace -}}
{{- $items := list -}}
{{- range splitList "\n---\n" $text -}}
{{- $items = append $items (fromYaml .) -}}
{{- end -}}
{{- dict "items" $items | toYaml -}}
{{- end -}}

{{/*
repository@digest, or repository:tag.
*/}}
{{- define "mainstay.image" -}}
{{- if .image.digest -}}
{{- printf "%s@%s" .image.repository .image.digest -}}
{{- else -}}
{{- printf "%s:%s" .image.repository (default .root.Chart.AppVersion .image.tag) -}}
{{- end -}}
{{- end -}}
