"""Tags of CloudWatch dashboards, which CloudWatch has and moto drops."""

from __future__ import annotations

from collections.abc import Iterator

from moto.cloudwatch.models import CloudWatchBackend
from moto.cloudwatch.responses import CloudWatchResponse
from moto.core.resource_tagging import TaggedResource
from moto.core.responses import ActionResult


def keep_tags() -> None:
    put, delete = CloudWatchResponse.put_dashboard, CloudWatchBackend.delete_dashboards
    tag, find = CloudWatchBackend.tag_resource, CloudWatchBackend.iter_tagged_resources

    def put_dashboard(self: CloudWatchResponse) -> ActionResult:
        answer = put(self)
        dashboard = self.cloudwatch_backend.dashboards[self._get_param("DashboardName")]
        tags = self._get_param("Tags", [])
        if tags:
            self.cloudwatch_backend.tagger.tag_resource(dashboard.arn, tags)
        return answer

    def tag_resource(self: CloudWatchBackend, arn: str, tags: dict[str, str]) -> None:
        if any(arn == dashboard.arn for dashboard in self.dashboards.values()):
            self.tagger.tag_resource(arn, self.tagger.convert_dict_to_tags_input(tags))
        else:
            tag(self, arn, tags)

    def delete_dashboards(self: CloudWatchBackend, dashboards: list[str]) -> str | None:
        arns = [self.dashboards[name].arn for name in dashboards if name in self.dashboards]
        error = delete(self, dashboards)
        if error is None:
            for arn in arns:
                self.tagger.delete_all_tags_for_resource(arn)
        return error

    def iter_tagged_resources(self: CloudWatchBackend) -> Iterator[TaggedResource]:
        yield from find(self)
        for dashboard in list(self.dashboards.values()):
            tags = self.tagger.get_tag_dict_for_resource(dashboard.arn)
            yield TaggedResource(dashboard.arn, tags, "cloudwatch:dashboard")

    CloudWatchResponse.put_dashboard = put_dashboard  # type: ignore[method-assign]
    CloudWatchBackend.tag_resource = tag_resource  # type: ignore[method-assign]
    CloudWatchBackend.delete_dashboards = delete_dashboards  # type: ignore[method-assign]
    CloudWatchBackend.iter_tagged_resources = iter_tagged_resources  # type: ignore[method-assign]
