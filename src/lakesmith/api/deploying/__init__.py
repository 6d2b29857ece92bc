"""The calls of a ``Lakehouse`` for a target on AWS."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lakesmith.api.access import Access

if TYPE_CHECKING:
    from lakesmith.api.deploying.artifact import Uploaded
    from lakesmith.api.deploying.work import Deployed, Estimate


class Deploying:
    """A part of ``Lakehouse``."""

    access: Access

    def deploy(self) -> Deployed:
        """Writes Terraform for the target to ``deploy/TARGET``; needs no account, and changes none.

        Raises ProjectError LS140 to LS144 for what cannot be deployed, and UsageError LS281 for edited files;
        then nothing is written.

        Example:
            print(lakesmith.open("shop", "prod").deploy().new)
        """
        from lakesmith.api.deploying.work import deploy

        return deploy(self.access)

    def check_deployment(self, *, plan: Path | None = None) -> Deployed:
        """Compares the files of the deployment with the project, and writes nothing.

        ``plan``: a file with a plan, as ``terraform show -json`` prints it. Raises as ``deploy``, UsageError
        LS283 for another file, and in production LS282 if the plan deletes buckets, keys or databases.

        Example:
            assert not lakesmith.open("shop", "prod").check_deployment().is_stale
        """
        from lakesmith.api.deploying.work import check_deployment

        return check_deployment(self.access, plan)

    def upload_artifact(self, *, folder: Path | None = None) -> Uploaded:
        """Fetches the packages of the target's jobs by pip, and uploads them with the project's files.

        ``folder``: where they are written instead, as they would be in the bucket. Terraform finds them by
        ``artifact.auto.tfvars.json`` in the deployment's folder. What is there already is not sent again.
        Raises as ``deploy``; EnvironmentProblem LS341, LS342 if packages cannot be fetched, LS343 if there
        are too many for the gate, LS344 if the bucket refuses them; UsageError LS291 if the project's folder
        has too much in it.

        Example:
            print(lakesmith.open("shop", "prod").upload_artifact(folder=Path("artifact")).packages)
        """
        from lakesmith.api.deploying.artifact import upload_artifact

        return upload_artifact(self.access, folder)

    def deployment_cost(self) -> Estimate:
        """Estimates what the deployment costs in a month, with what the estimate takes for granted.

        Raises as ``deploy``.

        Example:
            print(lakesmith.open("shop", "prod").deployment_cost().cost.idle)
        """
        from lakesmith.api.deploying.work import deployment_cost

        return deployment_cost(self.access)
